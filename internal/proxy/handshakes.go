package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
	"anymesh.dev/anymesh/internal/proxy/jsonsocket"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/session"
	"anymesh.dev/anymesh/internal/proxy/websocket"
)

// jsonSocket makes the handshake of JSONSocket on a stream of its transport.
func (l *listener) jsonSocket(s session.Source, handle func(session.Source)) {
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			_ = s.Stream.Close() // the client is gone
			return
		}
		s.Stream = s.Opened()
	}
	transport := s.Stream
	timer := time.AfterFunc(handshakeTimeout, func() { _ = transport.Close() }) // interrupts the handshake
	opened, header, err := jsonsocket.Accept(transport)
	timer.Stop()
	if err != nil {
		_ = transport.Close() // the client has got an answer
		return
	}
	s.Name, s.Stream, s.Opened = fmt.Sprintf("JSONSocket:%s-%d", l.current().Name, l.accepted.Load()), opened, nil
	if err := s.Meta.Set(metadata.Path{"JSONSocket"}, header); err != nil {
		_ = transport.Close() // the metadata of transports are objects
		return
	}
	s.Fail = func(status int, content string) { _ = jsonsocket.Answer(opened, status, content) } // the client may be gone
	s.Ready = func() error { return jsonsocket.Answer(opened, 200, "OK") }
	handle(s)
}

// webSocket reads the request of a WebSocket client. It is answered when the session is connected.
func (l *listener) webSocket(nc net.Conn, meta map[string]any, handle func(session.Source)) {
	if h2.Chosen(nc) {
		l.webSockets(nc, nil, meta, handle)
		return
	}
	_ = nc.SetReadDeadline(time.Now().Add(handshakeTimeout)) // it fails if the connection is closed
	request, shake, rest, refused := readUpgrade(nc)
	if request == nil && h2.Begins(rest) && http2On(&l.spec.Spec) {
		_ = nc.SetReadDeadline(time.Time{}) // as above
		l.webSockets(nc, rest, meta, handle)
		return
	}
	if request == nil {
		if refused != nil {
			answerError(nc, refused.Status, refused.Text)
		}
		_ = nc.Close() // the client has got an answer
		return
	}
	_ = nc.SetReadDeadline(time.Time{}) // as above
	meta["HTTP"] = httpforward.Metadata(request)
	pending := &upgrade{nc: nc}
	handle(session.Source{
		Name:   fmt.Sprintf("%s-%d", sessionName("WS", nc.RemoteAddr(), nc.LocalAddr()), l.accepted.Load()),
		Stream: pending, Meta: &metadata.Tree{Root: meta},
		Fail: func(status int, content string) { answerError(nc, status, content) },
		Ready: func() (err error) {
			pending.Stream, err = websocket.Accept(nc, shake, rest)
			return err
		},
		Opened: pending.opened,
	})
}

// webSockets serves the streams of an HTTP/2 connection. First is what was read before.
func (l *listener) webSockets(nc net.Conn, first []byte, meta map[string]any, handle func(session.Source)) {
	stop := context.AfterFunc(l.ctx, l.streams.Close)
	defer stop()
	l.streams.Serve(nc, first, func(s *h2.Stream) {
		l.webSocket(s, config.Copy(meta).(map[string]any), handle)
	})
}

// readUpgrade reads the request of a WebSocket client, and returns what was read after it; if it is no request, all
// that was read.
func readUpgrade(nc net.Conn) (*http1.Request, websocket.Request, []byte, *http1.Error) {
	request := new(http1.Request)
	buffer := make([]byte, 0, 4096)
	for {
		if len(buffer) == cap(buffer) {
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
		}
		seen := len(buffer)
		n, err := nc.Read(buffer[seen:cap(buffer)])
		if err != nil {
			return nil, websocket.Request{}, nil, nil
		}
		buffer = buffer[:seen+n]
		size, err := request.Parse(buffer, seen, http1.DefaultLimits)
		if err != nil {
			refused := (*http1.Error)(nil)
			errors.As(err, &refused)
			return nil, websocket.Request{}, buffer, refused
		}
		if size == 0 {
			continue
		}
		shake, refused := websocket.Check(request)
		if refused != nil {
			return nil, shake, nil, refused
		}
		return request, shake, buffer[size:], nil
	}
}

// answerError answers a WebSocket client without a session.
func answerError(nc net.Conn, status int, content string) {
	body := httpforward.ErrorBody(status, content)
	var upgrade string
	if status == 426 {
		upgrade = "Upgrade: websocket\r\n"
	}
	_ = nc.SetWriteDeadline(time.Now().Add(time.Second)) // it fails if the connection is closed
	_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), upgrade, len(body), body)
}
