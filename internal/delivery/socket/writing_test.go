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

// A write that is blocked because the client does not read returns when a deadline expires, when the connection is
// closed or released, or when the client reads.
func TestBlockedWriteIsInterrupted(t *testing.T) {
	const size = 32 << 20
	for name, c := range map[string]struct {
		unblock func(e *testConn, other net.Conn)
		want    error
	}{
		"deadline": {func(e *testConn, _ net.Conn) { _ = e.SetWriteDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded},
		"close":    {func(e *testConn, _ net.Conn) { _ = e.Close() }, syscall.EPIPE},
		"release":  {func(e *testConn, _ net.Conn) { _ = e.SetReadDeadline(time.Now()) }, net.ErrClosed}, // the task then releases the connection
		"client reads": {func(_ *testConn, other net.Conn) {
			if n, err := io.CopyN(io.Discard, other, size); n != size {
				t.Errorf("received %d bytes: %v", n, err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pool := NewWorkerPool(1)
			e, other := watchedPair(t, pool, nil)
			written := make(chan error, 1)
			go func() {
				_, err := e.Write(make([]byte, size))
				written <- err
			}()
			unwrap(e.Conn).eventuallyWaits(t)
			c.unblock(e, other)
			err := <-written
			if errors.Is(err, net.ErrClosed) && errors.Is(c.want, syscall.EPIPE) {
				err = c.want // the connection was released first
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			_ = other.Close()
			<-e.ended
			waitUntilIdle(t, pool)
		})
	}
}

func (c *conn) eventuallyWaits(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		c.mu.Lock()
		waits := c.blockedWrite != nil
		c.mu.Unlock()
		if waits {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no write is blocked")
		}
	}
}
