package grpcserver

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// repeatUntilError repeats an action that the server must stop by closing the connection.
func repeatUntilError(p *rawClient, do func() error) {
	for range 10_000 {
		if do() != nil {
			return
		}
	}
	p.t.Error("the server does not limit the repetition")
}

var floodViolations = []violation{
	{"streams that the client resets at once", "CVE-2023-44487, rapid reset", func(p *rawClient) {
		id := uint32(1)
		repeatUntilError(p, func() error {
			p.open(id, sinkMethod)
			err := p.WriteRSTStream(id, http2.ErrCodeCancel)
			id += 2
			return err
		})
	}, nil},
	{"PING", "CVE-2019-9512", func(p *rawClient) { repeatUntilError(p, func() error { return p.WritePing(false, [8]byte{}) }) }, nil},
	{"SETTINGS", "CVE-2019-9515", func(p *rawClient) { repeatUntilError(p, func() error { return p.WriteSettings() }) }, nil},
	{"empty DATA", "CVE-2019-9518", func(p *rawClient) {
		p.open(1, muteMethod)
		repeatUntilError(p, func() error { return p.WriteData(1, false, nil) })
	}, nil},
	{"DATA with only padding", "CVE-2019-9518", func(p *rawClient) {
		p.open(1, muteMethod)
		repeatUntilError(p, func() error { return p.WriteDataPadded(1, false, nil, make([]byte, 10)) })
	}, nil},
	{"PRIORITY", "CVE-2019-9513", func(p *rawClient) {
		repeatUntilError(p, func() error { return p.WritePriority(1, http2.PriorityParam{}) })
	}, nil},
	{"unknown frames", "RFC 9113, 10.5", func(p *rawClient) { repeatUntilError(p, func() error { return p.WriteRawFrame(99, 0, 0, nil) }) }, nil},
	{"streams that the server resets", "CVE-2025-8671, made you reset", func(p *rawClient) {
		id := uint32(1)
		repeatUntilError(p, func() error {
			p.open(id, sinkMethod)
			err := p.WriteWindowUpdate(id, 0)
			id += 2
			return err
		})
	}, nil},
	{"streams that the server refuses", "RFC 9113, 10.5", func(p *rawClient) {
		id := uint32(1)
		repeatUntilError(p, func() error {
			id += 2
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.headerBlock("/no/method"),
				EndHeaders: true, EndStream: true})
		})
	}, nil},
	{"trailers of one stream", "RFC 9113, 10.5", func(p *rawClient) {
		p.open(1, "/no/method")
		repeatUntilError(p, func() error {
			p.headers.Reset()
			_ = p.encoder.WriteField(hpack.HeaderField{Name: "x", Value: "y"})
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headers.Bytes(),
				EndHeaders: true})
		})
	}, nil},
}

const burst = 100

// A flood closes the connection of the client. The clock is stopped, so that the result is deterministic.
func TestFloodClosesConnection(t *testing.T) {
	for _, tt := range floodViolations {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRawServer(t, Options{MaxConcurrentStreams: 10, MaxFramesPerSecond: 20, MaxFrameBurst: burst})
				p, other := connect(t, h.listener), connect(t, h.listener)
				tt.do(p)
				got := p.takeEvents()
				if n := len(got); n < 2 || !strings.HasSuffix(got[n-2], http2.ErrCodeEnhanceYourCalm.String()) ||
					got[n-1] != "closed" ||
					tt.want != nil && !slices.Equal(got, tt.want) {
					t.Errorf("the client received %q", got)
				}
				if len(got) > 2*burst {
					t.Errorf("the client received %d frames", len(got))
				}
				checkRawEcho(other, 1)
				for _, s := range h.handlers.all() {
					if n := len(s.endCodes()); n != 1 {
						t.Errorf("OnEnd was called %d times", n)
					}
				}
			})
		})
	}
}

// Frames with which a client responds to data are no flood, however many there are. The clock is stopped, so that only
// sent data permits them.
func TestResponsesToDataAreNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxFramesPerSecond: 20, MaxFrameBurst: burst})
		p := connect(t, h.listener)
		p.open(1, echoMethod)
		_ = p.WriteWindowUpdate(0, 1<<20)
		_ = p.WriteWindowUpdate(1, 1<<20)
		for i := range 2000 {
			p.send(1, 10, false)
			_ = p.WritePing(false, [8]byte{})
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<16 + uint32(i)})
			_ = p.WriteWindowUpdate(0, 15)
			if err := p.WriteWindowUpdate(1, 15); err != nil {
				t.Fatalf("closed after %d messages: %v", i, err)
			}
			synctest.Wait() // for the echo
		}
		repeatUntilError(p, func() error { return p.WritePing(false, [8]byte{}) })
	})
}
