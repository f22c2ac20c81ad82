package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Whoever writes to a client that does not read is interrupted by a deadline that is set meanwhile, and by the end, and
// waits for the client otherwise.
func TestWaitsToWriteWhileWatched(t *testing.T) {
	const size = 32 << 20
	for name, c := range map[string]struct {
		meanwhile func(e *end, other net.Conn)
		want      error
	}{
		"deadline": {func(e *end, _ net.Conn) { _ = e.SetWriteDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded},
		"end":      {func(e *end, _ net.Conn) { _ = e.Close() }, syscall.EPIPE},
		"release":  {func(e *end, _ net.Conn) { _ = e.SetReadDeadline(time.Now()) }, net.ErrClosed}, // its task releases it
		"the client reads": {func(_ *end, other net.Conn) {
			if n, err := io.CopyN(io.Discard, other, size); n != size {
				t.Errorf("%d bytes arrived: %v", n, err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pool := NewWorkerPool(1)
			e, other := watched(t, pool, nil)
			written := make(chan error, 1)
			go func() {
				_, err := e.Write(make([]byte, size))
				written <- err
			}()
			under(e.Conn).eventuallyWaits(t)
			c.meanwhile(e, other)
			err := <-written
			if errors.Is(err, net.ErrClosed) && errors.Is(c.want, syscall.EPIPE) {
				err = c.want // the release of the connection was faster
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			_ = other.Close()
			<-e.ended
			idle(t, pool)
		})
	}
}

func (c *conn) eventuallyWaits(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		c.mu.Lock()
		waits := c.waits != nil
		c.mu.Unlock()
		if waits {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits to write")
		}
	}
}
