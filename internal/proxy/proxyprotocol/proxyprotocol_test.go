package proxyprotocol

import (
	"io"
	"net/netip"
	"strings"
	"testing"
)

// What is written is read, and nothing after it.
func TestHeaders(t *testing.T) {
	for _, pair := range [][2]string{{"10.0.0.1:1", "10.0.0.2:65535"}, {"[2001:db8::1]:1", "[2001:db8::2]:2"}} {
		for _, version := range []int{1, 2} {
			from, at := netip.MustParseAddrPort(pair[0]), netip.MustParseAddrPort(pair[1])
			in := strings.NewReader(string(Append(nil, version, from, at)) + "rest")
			h, err := Read(in)
			rest, _ := io.ReadAll(in)
			if err != nil || h != (Header{version, from, at}) || string(rest) != "rest" {
				t.Errorf("version %d: got %v, error %v, rest %q", version, h, err, rest)
			}
		}
	}
	for _, version := range []int{1, 2} {
		h, err := Read(strings.NewReader(string(Append(nil, version, netip.AddrPort{}, netip.AddrPort{}))))
		if err != nil || h != (Header{Version: version}) {
			t.Errorf("unknown addresses, version %d: got %v, error %v", version, h, err)
		}
	}
}

func TestRefusedHeaders(t *testing.T) {
	for _, text := range []string{
		"", "PROXY", "GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n",
		"PROXY TCP4 ::1 ::2 1 2\r\n", "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
		"PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n", "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n",
		"PROXY " + strings.Repeat("x", 200) + "\r\n", "\r\n\r\n\x00\r\nQUIT\n\x31\x11\x00\x00", "\r\n\r\n\x00\r\nQUIT\n\x22\x11\x00\x00",
		"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x04abcd", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0cabcd",
	} {
		if h, err := Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %v", text, h)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n")
	f.Add("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x00\x01\x00\x02")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Read(strings.NewReader(text))
		if err != nil || !h.Source.IsValid() {
			return
		}
		again, err := Read(strings.NewReader(string(Append(nil, h.Version, h.Source, h.Destination))))
		if err != nil || again != h {
			t.Errorf("got %v, then %v, error %v", h, again, err)
		}
	})
}
