package h2frame

import (
	"net/http"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// NoContentLength is the content length of a message that does not declare one.
const NoContentLength = -1

// Request is the head of a request.
type Request struct {
	Method, Scheme, Authority, Path string
	// Protocol is that of an extended CONNECT (RFC 8441).
	Protocol string
	// ContentLength is the declared size of the body in bytes, or NoContentLength.
	ContentLength int64
	// Fields are the fields without pseudo-headers.
	Fields []hpack.HeaderField
}

// ReadRequest checks the head of a new stream (RFC 9113, 8.2.2, 8.3.1 and 8.1.1). The framer has checked names, values,
// duplicates and the order of pseudo-headers.
func ReadRequest(f *http2.MetaHeadersFrame) (Request, error) {
	r := Request{
		Method: f.PseudoValue("method"), Scheme: f.PseudoValue("scheme"), Authority: f.PseudoValue("authority"),
		Path: f.PseudoValue("path"), Protocol: f.PseudoValue("protocol"), ContentLength: NoContentLength,
		Fields: f.RegularFields(),
	}
	malformed := http2.StreamError{StreamID: f.StreamID, Code: http2.ErrCodeProtocol}
	plain := r.Method == http.MethodConnect && r.Protocol == "" // has neither scheme nor path
	if r.Method == "" || !plain && (r.Scheme == "" || r.Path == "") || f.PseudoValue("status") != "" {
		return r, malformed
	}
	length, ok := CheckFields(r.Fields)
	if !ok {
		return r, malformed
	}
	r.ContentLength = length
	return r, nil
}

// CheckFields checks fields that HTTP/2 forbids, and returns the content length. It returns false if the message is
// malformed.
func CheckFields(fields []hpack.HeaderField) (contentLength int64, ok bool) {
	contentLength = NoContentLength
	for _, field := range fields {
		switch field.Name {
		case "content-length":
			n, err := strconv.ParseUint(field.Value, 10, 62)
			if err != nil || contentLength != NoContentLength && contentLength != int64(n) {
				return 0, false
			}
			contentLength = int64(n)
		case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
			return 0, false // meaningless in HTTP/2
		case "te":
			if field.Value != "trailers" {
				return 0, false
			}
		}
	}
	return contentLength, true
}

// DependsOnItself reports a priority that RFC 7540, 5.3.1 forbids. RFC 9113 deprecates priorities; all others are
// ignored.
func DependsOnItself(f *http2.MetaHeadersFrame) bool {
	return f.HasPriority() && f.Priority.StreamDep == f.StreamID
}
