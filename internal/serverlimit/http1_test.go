package serverlimit

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
)

const begin = "GET / HTTP/1.1\r\nHost: x\r\n"

// A header that is too long, or not complete in time, is counted, that of the first request and that of a later one.
func TestHTTP1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before int // requests
		send   func(c net.Conn)
		want   Reason
	}{
		{"long", 0, func(c net.Conn) { send(c, begin+header(2*maxHeader)+"\r\n") }, Long},
		{"long later", 2, func(c net.Conn) { send(c, begin+header(2*maxHeader)+"\r\n") }, Long},
		{"never ends", 0, func(c net.Conn) {
			for send(c, begin); ; {
				if _, err := io.WriteString(c, header(100)); err != nil {
					return
				}
			}
		}, Long},
		{"slow", 0, func(c net.Conn) { send(c, begin) }, Slow},
		{"slow first line", 0, func(c net.Conn) { send(c, "G") }, Slow},
		{"slow later", 2, func(c net.Conn) { send(c, begin) }, Slow},
		{"slow and long", 1, func(c net.Conn) { send(c, begin+header(maxHeader-1000)) }, Slow},
	} {
		for _, protocol := range []string{"http", "https"} {
			l := newLab(t, c.name, protocol)
			conn := l.dial()
			for range c.before {
				l.get(conn, "/")
			}
			c.send(conn)
			defer l.wants(map[Reason]int{c.want: 1}) // all connections wait for their timeouts together
		}
	}
}

// Connections that end otherwise are not counted.
func TestHTTP1Otherwise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  func(l *lab, c net.Conn)
	}{
		{"closed by the client", func(_ *lab, c net.Conn) { c.Close() }},
		{"closed after a response", func(l *lab, c net.Conn) { l.get(c, "/"); c.Close() }},
		{"nothing is sent", func(*lab, net.Conn) {}},
		{"idle", func(l *lab, c net.Conn) { l.get(c, "/") }},
		{"closed in a header", func(_ *lab, c net.Conn) { send(c, begin); c.Close() }},
		{"closed in a later header", func(l *lab, c net.Conn) { l.get(c, "/"); send(c, begin); c.Close() }},
		{"closed in a long header", func(_ *lab, c net.Conn) { send(c, begin+header(maxHeader-1000)); c.Close() }},
		{"long, within the limit", func(l *lab, c net.Conn) {
			send(c, begin+header(maxHeader-1000)+"\r\n")
			l.answered(c, http.StatusOK)
		}},
		{"malformed", func(l *lab, c net.Conn) {
			send(c, begin+header(maxHeader-1000)+"no header\r\n\r\n")
			l.answered(c, http.StatusBadRequest)
		}},
		{"slow body", func(_ *lab, c net.Conn) {
			send(c, "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"+header(maxHeader))
		}},
		{"slow body later", func(l *lab, c net.Conn) {
			l.get(c, "/")
			send(c, "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
		}},
		{"body that is not read", func(l *lab, c net.Conn) {
			send(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"+header(maxHeader))
			l.answered(c, http.StatusOK)
		}},
		{"connection: close", func(_ *lab, c net.Conn) { send(c, begin+"Connection: close\r\n\r\n") }},
		{"shutdown", func(l *lab, c net.Conn) { l.get(c, "/"); l.shutdown() }},
		{"shutdown in a header", func(l *lab, c net.Conn) {
			l.get(c, "/")
			send(c, begin+header(maxHeader-1000))
			l.shutdown()
		}},
	} {
		for _, protocol := range []string{"http", "https"} {
			l := newLab(t, c.name, protocol)
			c.run(l, l.dial())
			defer l.wants(nil)
		}
	}
}

// Handshakes that do not end in time are counted, but not those that fail.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	slow := map[Reason]int{Handshake: 1}
	for name, test := range map[string]struct {
		run  func(c net.Conn)
		want map[Reason]int
	}{
		"nothing":       {func(net.Conn) {}, slow},
		"slow":          {func(c net.Conn) { c.Write([]byte{22, 3, 1}) }, slow},
		"long":          {func(c net.Conn) { c.Write([]byte{22, 3, 1, 0x40, 0}); send(c, header(16000)) }, slow},
		"no TLS":        {func(c net.Conn) { send(c, begin+"\r\n") }, nil},
		"refused":       {func(c net.Conn) { _ = tls.Client(c, &tls.Config{ServerName: "example.org"}).Handshake() }, nil},
		"closed":        {func(c net.Conn) { c.Close() }, nil},
		"closed, begun": {func(c net.Conn) { c.Write([]byte{22, 3, 1}); c.Close() }, nil},
	} {
		l := newLab(t, name, "https")
		test.run(l.dialPlain())
		defer l.wants(test.want)
	}
}
