// Package serverlimit counts the requests and connections that reach a limit of an HTTP server.
//
// In: a server of net/http with limits. Out: a call for each request, or connection, that reaches one of them. net/http
// enforces the limits itself, and does not report that.
package serverlimit

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Reason is the limit that is reached.
type Reason string

// Reasons.
const (
	// Handshake is the limit of the TLS handshake: the shortest positive one of http.Server.ReadHeaderTimeout, ReadTimeout
	// and WriteTimeout.
	Handshake Reason = "handshake_timeout"
	// Long is http.Server.MaxHeaderBytes.
	Long Reason = "header_size"
	// Slow is http.Server.ReadHeaderTimeout. It limits HTTP/1 only. A connection on which no byte of a request
	// arrives is closed, too, but is not counted: clients open connections in advance.
	Slow Reason = "header_timeout"
	// Unread is http.Server.WriteTimeout, http.HTTP2Config.WriteByteTimeout, or the time of LimitWrite. It is counted for
	// a connection or a stream.
	Unread Reason = "slow_client"
	// Frame is http.HTTP2Config.MaxReadFrameSize. A malformed frame is counted, too.
	Frame Reason = "frame_size"
	// Streams is http.HTTP2Config.MaxConcurrentStreams.
	Streams Reason = "connection_streams"
)

// observer has what all connections of a server share.
type observer struct {
	server  *http.Server
	refused func(Reason)
}

// contextKey is the key of a request's connection.
type contextKey struct{}

// Observe calls refused for each request, or connection, that the server refuses because of a limit. It sets the
// server's ConnContext, ConnState and HTTP2.CountError, and wraps its handler. Only connections of listeners that
// listen wraps are observed; TLS is above them. The server has to have the limits of a header, and an IdleTimeout that
// is longer than its ReadHeaderTimeout.
//
// With HTTP/2, a header that is longer than the limit is counted if the server closes the connection for it, and if it
// responds with status 431 while the connection has no other stream. It is not counted if it has less than half of the
// length because of references to the dynamic table of HPACK. A frame that is too long is counted as a header if half
// of the length of a header was read with it.
func Observe(server *http.Server, refused func(Reason)) (listen func(net.Listener) net.Listener) {
	o := &observer{server, refused}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, is := r.Context().Value(contextKey{}).(*conn); is {
			c.enterHandler()
			if server.WriteTimeout > 0 {
				// The time began with the stream, before its handler.
				c.limitStream(w, r, time.Now().Add(server.WriteTimeout-min(server.WriteTimeout/4, time.Second)))
			}
		}
		next.ServeHTTP(w, r)
	})
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if c := observed(c); c != nil {
			return context.WithValue(ctx, contextKey{}, c)
		}
		return ctx
	}
	server.ConnState = o.changed
	if server.HTTP2 != nil {
		server.HTTP2.CountError = o.failed
	}
	return func(l net.Listener) net.Listener { return listener{l, o} }
}

// changed is http.Server.ConnState. For HTTP/1, a connection is active when the header of a request was read, or a part
// of it. It may remain idle if the part arrived at once, while net/http waited for the request. For HTTP/2, it is
// active while it has streams.
func (o *observer) changed(outer net.Conn, state http.ConnState) {
	c := observed(outer)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.begin()
	case http.StateIdle:
		if !isHTTP2(outer) {
			c.endHTTP1()
		} else if c.endHTTP2(o.long()) {
			o.refused(Long)
		}
	case http.StateClosed:
		if !shakenHands(outer) {
			if c.timedOut() {
				o.refused(Handshake)
			}
		} else if reason := c.closed(isHTTP2(outer), o.long(), o.server.ReadHeaderTimeout); reason != "" {
			o.refused(reason)
		}
	}
}

func isHTTP2(c net.Conn) bool {
	t, is := c.(*tls.Conn)
	return is && t.ConnectionState().NegotiatedProtocol == "h2"
}

// shakenHands reports whether a connection has no TLS, or its handshake has ended.
func shakenHands(c net.Conn) bool {
	t, is := c.(*tls.Conn)
	return !is || t.ConnectionState().HandshakeComplete
}

// long is the least number of bytes on the wire of a header that exceeds the limit. The Huffman code of HPACK has at
// least five bits for a character. Bytes that arrive together with those of the TLS handshake, or of the previous
// request, are not counted.
func (o *observer) long() int { return o.server.MaxHeaderBytes / 2 }
