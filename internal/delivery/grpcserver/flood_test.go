package grpcserver

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// bounded repeats what no client may do for ever.
func bounded(p *peer, do func() error) {
	for range 10_000 {
		if do() != nil {
			return
		}
	}
	p.t.Error("it may go on for ever")
}

var floods = []broken{
	{"streams that are reset at once", "CVE-2023-44487, rapid reset", func(p *peer) {
		id := uint32(1)
		bounded(p, func() error {
			p.open(id, sinkMethod)
			err := p.WriteRSTStream(id, http2.ErrCodeCancel)
			id += 2
			return err
		})
	}, nil},
	{"PING", "CVE-2019-9512", func(p *peer) { bounded(p, func() error { return p.WritePing(false, [8]byte{}) }) }, nil},
	{"SETTINGS", "CVE-2019-9515", func(p *peer) { bounded(p, func() error { return p.WriteSettings() }) }, nil},
	{"empty DATA", "CVE-2019-9518", func(p *peer) {
		p.open(1, muteMethod)
		bounded(p, func() error { return p.WriteData(1, false, nil) })
	}, nil},
	{"DATA of nothing but padding", "CVE-2019-9518", func(p *peer) {
		p.open(1, muteMethod)
		bounded(p, func() error { return p.WriteDataPadded(1, false, nil, make([]byte, 10)) })
	}, nil},
	{"PRIORITY", "CVE-2019-9513", func(p *peer) { bounded(p, func() error { return p.WritePriority(1, http2.PriorityParam{}) }) }, nil},
	{"unknown frames", "RFC 9113, 10.5", func(p *peer) { bounded(p, func() error { return p.WriteRawFrame(99, 0, 0, nil) }) }, nil},
	{"streams that we reset", "CVE-2025-8671, made you reset", func(p *peer) {
		id := uint32(1)
		bounded(p, func() error {
			p.open(id, sinkMethod)
			err := p.WriteWindowUpdate(id, 0)
			id += 2
			return err
		})
	}, nil},
	{"streams that we refuse", "RFC 9113, 10.5", func(p *peer) {
		id := uint32(1)
		bounded(p, func() error {
			id += 2
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block("/no/method"), EndHeaders: true, EndStream: true})
		})
	}, nil},
	{"trailers of one stream", "RFC 9113, 10.5", func(p *peer) {
		p.open(1, muteMethod)
		bounded(p, func() error {
			p.headers.Reset()
			_ = p.encoder.WriteField(hpack.HeaderField{Name: "x", Value: "y"})
			return p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headers.Bytes(), EndHeaders: true, EndStream: true})
		})
	}, nil},
}

const burst = 100

// A flood costs the client its connection. The clock stands still meanwhile, so that it is known when.
func TestFloods(t *testing.T) {
	for _, tt := range floods {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHostile(t, Options{Streams: 10, FramesPerSecond: 20, FrameBurst: burst})
				p, other := connect(t, h.l), connect(t, h.l)
				tt.do(p)
				got := p.saw()
				if n := len(got); n < 2 || !strings.HasSuffix(got[n-2], http2.ErrCodeEnhanceYourCalm.String()) || got[n-1] != "closed" ||
					tt.want != nil && !slices.Equal(got, tt.want) {
					t.Errorf("the client sees %q", got)
				}
				if len(got) > 2*burst {
					t.Errorf("it gets %d answers", len(got))
				}
				answers(other, 1)
				for _, s := range h.sinks.calls() {
					if n := len(s.ended()); n != 1 {
						t.Errorf("a call ended %d times", n)
					}
				}
			})
		})
	}
}
