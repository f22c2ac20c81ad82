package grpcserver

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/h2frame"
)

// The hpack package decodes what appendHPACKField encodes.
func TestHPACKEncoding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	decoder := hpack.NewDecoder(4<<10, nil)
	for _, size := range []int{0, 1, 126, 127, 128, 254, 255, 256, 16510, 16511, 1<<21 + 126, 1<<21 + 127} {
		for range 10 {
			want := []hpack.HeaderField{
				{Name: "a" + strings.Repeat("n", rng.IntN(300)), Value: strings.Repeat("v", size)},
				{Name: strings.Repeat("n", size+1), Value: strconv.Itoa(rng.Int())},
			}
			var b []byte
			for _, f := range want {
				b = h2frame.AppendField(b, f.Name, f.Value)
			}
			got, err := decoder.DecodeFull(b)
			if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				t.Fatalf("values of %d bytes: %v", size, err)
			}
		}
	}
}

func TestControlFrameEncoding(t *testing.T) {
	var b []byte
	b = h2frame.AppendSettings(b, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1 << 31})
	b = h2frame.AppendWindowUpdate(b, 1<<31-1, h2frame.LargestWindow)
	b = h2frame.AppendRSTStream(b, 7, http2.ErrCodeRefusedStream)
	b = h2frame.AppendGoAway(b, 9, http2.ErrCodeEnhanceYourCalm)
	var want bytes.Buffer
	theirs := http2.NewFramer(&want, nil)
	theirs.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1 << 31})
	theirs.WriteWindowUpdate(1<<31-1, h2frame.LargestWindow)
	theirs.WriteRSTStream(7, http2.ErrCodeRefusedStream)
	theirs.WriteGoAway(9, http2.ErrCodeEnhanceYourCalm, nil)
	if !bytes.Equal(b, want.Bytes()) {
		t.Errorf("got\n%x, want\n%x", b, want.Bytes())
	}
}

// forEachStatusMessage calls a function with valid and invalid status messages.
func forEachStatusMessage(each func(text string)) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		b := make([]byte, rng.IntN(50))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		each(string(b))
		each(strings.ToValidUTF8(string(b), "ü%\n"))
	}
	for shift := range 5 { // multi-byte runes at the limit
		for _, letter := range []string{"a", "ß", "漢", "😀", "%", "\xff"} {
			each(strings.Repeat("x", shift) + strings.Repeat(letter, 3*maxStatusMessage/len(letter)))
		}
	}
}

func TestTrailersEncoding(t *testing.T) {
	forEachStatusMessage(func(text string) {
		for _, headers := range []bool{false, true} {
			for _, code := range []codes.Code{0, 1, 9, 10, 16, 99, 100, 1<<32 - 1} {
				b := appendTrailers(nil, 5, status.New(code, text), headers)
				in := http2.NewFramer(nil, bytes.NewReader(b)) // accepts frames of 16 KiB
				in.SetMaxReadFrameSize(h2frame.FrameSize)
				in.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
				frame, err := in.ReadFrame()
				if err != nil {
					t.Fatalf("%v %q: %v", code, text, err)
				}
				f := frame.(*http2.MetaHeadersFrame)
				got := map[string]string{}
				for _, field := range f.Fields {
					got[field.Name] = field.Value
				}
				if !f.StreamEnded() || f.StreamID != 5 || got["grpc-status"] != strconv.FormatUint(uint64(code), 10) {
					t.Fatalf("%v of %d: %v", f, code, got)
				}
				if (got[":status"] == "200") != headers || (got["content-type"] == "application/grpc") != headers {
					t.Fatalf("headers: %v: %v", headers, got)
				}
				if text != "" {
					checkStatusMessage(t, text, got["grpc-message"])
				}
			}
		}
	})
}

// checkStatusMessage checks that a percent-encoded message decodes to the text, or to the beginning of it.
func checkStatusMessage(t *testing.T, text, encoded string) {
	t.Helper()
	for i := range len(encoded) {
		if encoded[i] < ' ' || encoded[i] > '~' {
			t.Fatalf("%q is not escaped", encoded)
		}
	}
	got, err := url.PathUnescape(encoded)
	if err != nil || !strings.HasPrefix(text, got) {
		t.Fatalf("%q: decoded %q, error %v", text, got, err)
	}
	if lost := len(text) - len(got); lost > 0 && len(got) < maxStatusMessage-utf8.UTFMax {
		t.Fatalf("lost %d of %d bytes", lost, len(text))
	}
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Fatalf("%q was truncated within a rune", text)
	}
}

// A frame is returned when it is complete, and HEADERS when their CONTINUATION frames are complete.
func TestNextFrame(t *testing.T) {
	join := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	ping := h2frame.AppendHeader(nil, http2.FramePing, 0, 0, 8)
	ping = append(ping, make([]byte, 8)...)
	begin := append(h2frame.AppendHeader(nil, http2.FrameHeaders, 0, 1, 2), 1, 2)
	more := append(h2frame.AppendHeader(nil, http2.FrameContinuation, 0, 1, 1), 3)
	end := append(h2frame.AppendHeader(nil, http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, 1), 4)
	for name, test := range map[string]struct {
		whole []byte
		bad   error
	}{
		"one":                          {whole: ping},
		"headers with continuations":   {whole: join(begin, more, more, end)},
		"headers interrupted by PING":  {whole: join(begin, ping)},
		"continuation without headers": {whole: more},
		"frame too large":              {whole: h2frame.AppendHeader(nil, http2.FrameData, 0, 1, h2frame.FrameSize+1), bad: http2.ConnectionError(http2.ErrCodeFrameSize)},
		"endless continuations":        {whole: join(begin, bytes.Repeat(more, MaxHeaderListSize)), bad: http2.ConnectionError(http2.ErrCodeProtocol)},
		"endless empty continuations":  {whole: join(begin, bytes.Repeat(h2frame.AppendHeader(nil, http2.FrameContinuation, 0, 1, 0), MaxHeaderListSize)), bad: http2.ConnectionError(http2.ErrCodeProtocol)},
	} {
		t.Run(name, func(t *testing.T) {
			if test.bad != nil {
				if _, _, err := nextFrame(test.whole); !errors.Is(err, test.bad) {
					t.Fatalf("%v, want %v", err, test.bad)
				}
				return
			}
			for n := range test.whole {
				if f, need, err := nextFrame(test.whole[:n]); len(f) > 0 || need <= n || need > len(test.whole) || err != nil {
					t.Fatalf("after %d of %d bytes: %d, need %d, %v", n, len(test.whole), len(f), need, err)
				}
			}
			for _, behind := range [][]byte{nil, ping, {0}} {
				if f, _, err := nextFrame(join(test.whole, behind)); !bytes.Equal(f, test.whole) || err != nil {
					t.Errorf("%d bytes, want %d, %v", len(f), len(test.whole), err)
				}
			}
		})
	}
}
