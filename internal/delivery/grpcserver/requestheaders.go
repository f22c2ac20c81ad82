package grpcserver

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2"
)

// noContentLength is the content length of a request that does not declare one.
const noContentLength = -1

// requestHeaders are the headers of a request that the server uses.
type requestHeaders struct {
	method, path, contentType, encoding string
	contentLength                       int // noContentLength if absent
}

// readRequestHeaders checks the headers of a new stream (RFC 9113, 8.2.2, 8.3.1 and 8.1.1). The framer has checked
// names, values, duplicates and the order of pseudo-headers.
func readRequestHeaders(f *http2.MetaHeadersFrame) (requestHeaders, error) {
	r := requestHeaders{method: f.PseudoValue("method"), path: f.PseudoValue("path"), contentLength: noContentLength}
	malformed := http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	connect := r.method == "CONNECT" // has neither scheme nor path
	if r.method == "" || !connect && (f.PseudoValue("scheme") == "" || r.path == "") || f.PseudoValue("status") != "" {
		return r, malformed
	}
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "content-type":
			r.contentType = field.Value
		case "grpc-encoding":
			r.encoding = field.Value
		case "content-length":
			n, err := strconv.ParseUint(field.Value, 10, 32)
			if err != nil || r.contentLength != noContentLength && r.contentLength != int(n) {
				return r, malformed
			}
			r.contentLength = int(n)
		case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
			return r, malformed // meaningless in HTTP/2
		case "te":
			if field.Value != "trailers" {
				return r, malformed
			}
		}
	}
	return r, nil
}

func (r *requestHeaders) isGRPC() bool {
	rest, ok := strings.CutPrefix(r.contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// dependsOnItself reports a priority that RFC 7540, 5.3.1 forbids. RFC 9113 deprecates priorities; the server ignores
// all others.
func dependsOnItself(f *http2.MetaHeadersFrame) bool {
	return f.HasPriority() && f.Priority.StreamDep == f.StreamID
}
