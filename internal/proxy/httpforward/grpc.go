package httpforward

import (
	"fmt"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/http1"
)

// isGRPC reports whether a request is one of gRPC.
func isGRPC(r *http1.Request) bool {
	value, _ := r.Get("content-type")
	rest, is := strings.CutPrefix(text(value), "application/grpc")
	return is && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// respondGRPC sends a response of the proxy to a client of gRPC, which expects the status 200 and one of gRPC.
func (c *conn) respondGRPC(status int, content string) bool {
	c.status, c.started = status, true
	c.span.GRPC(strconv.Itoa(grpcStatus(status)))
	c.statusLine(200, "OK")
	c.ownFields()
	c.reply = fmt.Appendf(c.reply, "Content-Type: application/grpc\r\nContent-Length: 0\r\nGrpc-Status: %d\r\nGrpc-Message: %s\r\n",
		grpcStatus(status), grpcMessage(content))
	c.endHead()
	_, err := c.client.Write(c.reply)
	return err == nil
}

// grpcStatus returns the status of gRPC for one of HTTP, as the document "HTTP to gRPC Status Code Mapping" has it.
func grpcStatus(status int) int {
	switch status {
	case 400, 431:
		return 13 // INTERNAL
	case 401:
		return 16 // UNAUTHENTICATED
	case 403:
		return 7 // PERMISSION_DENIED
	case 404, 501:
		return 12 // UNIMPLEMENTED
	case 429, 502, 503, 504:
		return 14 // UNAVAILABLE
	}
	return 2 // UNKNOWN
}

// grpcMessage encodes a message: printable ASCII without the percent sign stays.
func grpcMessage(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if b := s[i]; b < ' ' || b > '~' || b == '%' {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}
