package http1

import (
	"bytes"
	"iter"
)

// onlyInHead reports whether a field must not be a trailer: those that frame or route a message (RFC 9110, 6.5.1), and
// those of the connection.
func onlyInHead(name []byte) bool {
	for _, one := range []string{
		"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "expect", "trailer", "keep-alive",
		"proxy-connection", "http2-settings", "authorization", "proxy-authorization",
	} {
		if is(name, one) {
			return true
		}
	}
	return false
}

// Lines returns the names and values of trailers that Chunks has kept.
func Lines(trailer []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(trailer) > 0 {
			text, rest, err := line(trailer)
			name, value, has := bytes.Cut(text, []byte{':'})
			if err != nil || !has || !yield(name, trim(value)) {
				return
			}
			trailer = rest
		}
	}
}
