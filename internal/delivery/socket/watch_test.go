package socket

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// testConn is one end of a connection in a pool. It records the received data.
type testConn struct {
	net.Conn
	pool   *WorkerPool
	task   Task
	onTask func() // called at the start of each task
	got    bytes.Buffer
	over   bool
	ended  chan error // result, after the release
}

// watchedPair returns a connection that the pool watches, and its other end.
func watchedPair(t *testing.T, c *WorkerPool, onTask func()) (*testConn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	other, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	e := &testConn{Conn: Direct(accepted), pool: c, onTask: onTask, ended: make(chan error, 1)}
	e.task.Run = e.read
	if !c.Watch(e.Conn, &e.task) {
		t.Fatal("Watch returned false for a TCP connection")
	}
	t.Cleanup(func() { _ = other.Close() })
	return e, other
}

func (e *testConn) read() {
	if e.onTask != nil {
		e.onTask()
	}
	buffer := make([]byte, 100)
	for !e.over { // the task may run once more after the end
		n, err := e.Read(buffer)
		e.got.Write(buffer[:n])
		if errors.Is(err, ErrWait) {
			return
		}
		if err != nil {
			e.over = true
			_ = e.pool.Release(e.Conn)
			e.ended <- err
			return
		}
	}
}

// waitUntilIdle waits until the pool has no goroutines.
func waitUntilIdle(t *testing.T, c *WorkerPool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		c.mu.Lock()
		done := c.working == 0 && !c.waiting
		c.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the idle pool still has goroutines")
		}
	}
}

// All data of many connections arrives, in pieces and with pauses, followed by EOF. The pool keeps no goroutines.
func TestWatchedConnectionsReceiveEverything(t *testing.T) {
	c := NewWorkerPool(2)
	var all sync.WaitGroup
	for i := range 100 {
		e, other := watchedPair(t, c, nil)
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() {
			var sent bytes.Buffer
			for range 200 {
				piece := make([]byte, 1+rng.IntN(250))
				for i := range piece {
					piece[i] = byte(rng.Uint32())
				}
				sent.Write(piece)
				if _, err := other.Write(piece); err != nil {
					t.Error(err)
					return
				}
				if rng.IntN(4) == 0 {
					time.Sleep(time.Duration(rng.IntN(int(time.Millisecond))))
				}
			}
			_ = other.Close()
			if err := <-e.ended; !errors.Is(err, io.EOF) {
				t.Errorf("got error %v, want EOF", err)
			}
			if !bytes.Equal(e.got.Bytes(), sent.Bytes()) {
				t.Errorf("received %d of %d bytes, or other data", e.got.Len(), sent.Len())
			}
		})
	}
	all.Wait()
	waitUntilIdle(t, c)
}

// A task gets an error if another goroutine closes its connection or sets a deadline.
func TestTaskSeesClosedConnection(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(e *testConn)
		want error
	}{
		"closed":   {func(e *testConn) { _ = e.Close() }, io.EOF},
		"deadline": {func(e *testConn) { _ = e.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewWorkerPool(1)
			e, other := watchedPair(t, c, nil)
			blocked := make(chan error, 1)
			go func() {
				_, err := e.Write(make([]byte, 64<<20)) // the other end does not read
				blocked <- err
			}()
			test.end(e)
			if err := <-e.ended; !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			if err := <-blocked; err == nil {
				t.Error("the blocked write succeeded")
			}
			if _, err := io.Copy(io.Discard, other); err != nil {
				t.Errorf("other end: got error %v", err)
			}
			_ = e.Close() // again
			waitUntilIdle(t, c)
		})
	}
}

// A blocked task does not delay other connections, even in a pool of one goroutine.
func TestBlockedTaskDoesNotDelayConnections(t *testing.T) {
	c := NewWorkerPool(1)
	release := make(chan struct{})
	var conns []*testConn
	for i := range 10 {
		wait := func() { <-release }
		if i == 9 {
			wait = nil
		}
		e, other := watchedPair(t, c, wait)
		conns = append(conns, e)
		_, _ = other.Write([]byte("x"))
		_ = other.Close()
	}
	if err := <-conns[9].ended; !errors.Is(err, io.EOF) || conns[9].got.String() != "x" {
		t.Errorf("got %q, error %v", conns[9].got.String(), err)
	}
	close(release)
	for _, e := range conns[:9] {
		if err := <-e.ended; !errors.Is(err, io.EOF) || e.got.String() != "x" {
			t.Errorf("got %q, error %v", e.got.String(), err)
		}
	}
	waitUntilIdle(t, c)
}

// wrappedConn is a connection of a listener that wraps another one.
type wrappedConn struct {
	net.Conn
	closed chan struct{}
}

func (a wrappedConn) NetConn() net.Conn { return a.Conn }

func (a wrappedConn) Close() error {
	close(a.closed)
	return a.Conn.Close()
}

// A connection that wraps a direct one can be watched, and its Close is called at the release.
func TestWrappedConnectionIsWatched(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Listener(l)
	defer func() { _ = l.Close() }()
	other, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	wrapped := wrappedConn{accepted, make(chan struct{})}
	if Direct(wrapped) != net.Conn(wrapped) {
		t.Error("Direct wrapped a connection that is direct")
	}
	c := NewWorkerPool(1)
	e := &testConn{Conn: wrapped, pool: c, ended: make(chan error, 1)}
	e.task.Run = e.read
	if !c.Watch(e.Conn, &e.task) {
		t.Fatal("Watch returned false for a wrapped connection")
	}
	_, _ = other.Write([]byte("x"))
	_ = other.Close()
	if err := <-e.ended; !errors.Is(err, io.EOF) || e.got.String() != "x" {
		t.Errorf("got %q, error %v", e.got.String(), err)
	}
	<-wrapped.closed
	waitUntilIdle(t, c)
}

func TestUnsupportedConnectionsAreNotWatched(t *testing.T) {
	c := NewWorkerPool(1)
	pipe, _ := net.Pipe()
	if c.Watch(pipe, &Task{}) {
		t.Error("Watch returned true for a pipe")
	}
	direct, _ := watchedPair(t, c, nil)
	_ = direct.Close()
	<-direct.ended
	if c.Watch(direct.Conn, &Task{}) {
		t.Error("Watch returned true for a closed connection")
	}
	if err := c.Release(pipe); err != nil {
		t.Error(err)
	}
	waitUntilIdle(t, c)
}
