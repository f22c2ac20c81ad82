package serverlimit

import (
	"errors"
	"net/http"
	"os"
	"time"
)

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unread = true
	}
	return n, err
}

// LimitWrite returns a writer for the response of a request, which the client has to read within a time from its first
// byte. The handler may take longer before. Then the connection is closed, with HTTP/2 the stream.
func LimitWrite(to http.ResponseWriter, of *http.Request, timeout time.Duration) http.ResponseWriter {
	return &timedWriter{ResponseWriter: to, request: of, timeout: timeout}
}

// Unlimited returns the writer to which LimitWrite has added a limit, if the response has not begun.
func Unlimited(w http.ResponseWriter) http.ResponseWriter {
	if t, is := w.(*timedWriter); is && !t.begun {
		return t.ResponseWriter
	}
	return w
}

// timedWriter sets the write deadline when the response begins.
type timedWriter struct {
	http.ResponseWriter
	request *http.Request
	timeout time.Duration
	begun   bool
}

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *timedWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	deadline := time.Now().Add(w.timeout)
	// Only a ResponseWriter that is not of a connection, in tests, has no deadline.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
	if c, is := w.request.Context().Value(contextKey{}).(*conn); is {
		c.limitStream(w.ResponseWriter, w.request, deadline)
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *timedWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *timedWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// limitStream counts a stream of HTTP/2 that is open at its deadline: net/http resets it then.
func (c *conn) limitStream(w http.ResponseWriter, r *http.Request, deadline time.Time) {
	if r.ProtoMajor != 2 {
		return // the write to the connection fails
	}
	// The context of the request ends with the handler, which may be before the response is sent.
	stream, is := w.(http.CloseNotifier) //nolint:staticcheck // nothing else reports the end of a stream
	if !is {
		return
	}
	ended := stream.CloseNotify()
	go func() {
		<-ended
		if time.Now().Before(deadline) {
			return
		}
		c.mu.Lock()
		closed := c.readErr != nil || c.unread // by the client, or because it reads nothing, which is counted once
		c.mu.Unlock()
		if !closed {
			c.observer.refused(Unread)
		}
	}()
}
