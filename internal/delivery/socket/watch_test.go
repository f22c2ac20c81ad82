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

// end is one end of a connection that a pool watches.
type end struct {
	net.Conn
	pool  *WorkerPool
	task  Task
	took  func() // at the beginning of each task
	got   bytes.Buffer
	over  bool
	ended chan error // why; it is released then
}

// watched is a connection that the pool watches, and its other side.
func watched(t *testing.T, c *WorkerPool, took func()) (*end, net.Conn) {
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
	e := &end{Conn: Direct(accepted), pool: c, took: took, ended: make(chan error, 1)}
	e.task.Run = e.read
	if !c.Watch(e.Conn, &e.task) {
		t.Fatal("a connection of the system cannot be watched")
	}
	t.Cleanup(func() { _ = other.Close() })
	return e, other
}

func (e *end) read() {
	if e.took != nil {
		e.took()
	}
	buffer := make([]byte, 100)
	for !e.over { // somebody may have woken the task once more
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

// idle waits until no goroutine of the pool is left.
func idle(t *testing.T, c *WorkerPool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		c.mu.Lock()
		done := c.working == 0 && !c.waiting
		c.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("goroutines are left, though there is nothing to wait for")
		}
	}
}

// Whatever is sent, in whichever pieces and pauses, arrives, and the end behind it; nothing is left of many connections
// that were.
func TestNothingIsMissed(t *testing.T) {
	c := NewWorkerPool(2)
	var all sync.WaitGroup
	for i := range 100 {
		e, other := watched(t, c, nil)
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
				t.Errorf("the end is %v", err)
			}
			if !bytes.Equal(e.got.Bytes(), sent.Bytes()) {
				t.Errorf("%d bytes of %d arrived, or not as they were sent", e.got.Len(), sent.Len())
			}
		})
	}
	all.Wait()
	idle(t, c)
}

// Others end a connection, or the wait for it, and the task notices.
func TestTaskSeesClosedConnection(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(e *end)
		want error
	}{
		"closed":   {func(e *end) { _ = e.Close() }, io.EOF},
		"deadline": {func(e *end) { _ = e.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewWorkerPool(1)
			e, other := watched(t, c, nil)
			blocked := make(chan error, 1)
			go func() {
				_, err := e.Write(make([]byte, 64<<20)) // nobody reads it
				blocked <- err
			}()
			test.end(e)
			if err := <-e.ended; !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if err := <-blocked; err == nil {
				t.Error("whoever wrote has not noticed")
			}
			if _, err := io.Copy(io.Discard, other); err != nil {
				t.Errorf("the other side: %v", err)
			}
			_ = e.Close() // once more
			idle(t, c)
		})
	}
}

// A task that waits holds up no other connection, even where one goroutine should be enough.
func TestConnectionsBehindATurnThatWaits(t *testing.T) {
	c := NewWorkerPool(1)
	release := make(chan struct{})
	var ends []*end
	for i := range 10 {
		wait := func() { <-release }
		if i == 9 {
			wait = nil
		}
		e, other := watched(t, c, wait)
		ends = append(ends, e)
		_, _ = other.Write([]byte("x"))
		_ = other.Close()
	}
	if err := <-ends[9].ended; !errors.Is(err, io.EOF) || ends[9].got.String() != "x" {
		t.Errorf("%q, %v", ends[9].got.String(), err)
	}
	close(release)
	for _, e := range ends[:9] {
		if err := <-e.ended; !errors.Is(err, io.EOF) || e.got.String() != "x" {
			t.Errorf("%q, %v", e.got.String(), err)
		}
	}
	idle(t, c)
}

// around is a connection around another one, as that of a listener that wraps another one.
type around struct {
	net.Conn
	closed chan struct{}
}

func (a around) NetConn() net.Conn { return a.Conn }

func (a around) Close() error {
	close(a.closed)
	return a.Conn.Close()
}

// A connection around a direct one is watched as that is, and closed when it is released.
func TestAroundADirectOne(t *testing.T) {
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
	wrapped := around{accepted, make(chan struct{})}
	if Direct(wrapped) != net.Conn(wrapped) {
		t.Error("it is direct already")
	}
	c := NewWorkerPool(1)
	e := &end{Conn: wrapped, pool: c, ended: make(chan error, 1)}
	e.task.Run = e.read
	if !c.Watch(e.Conn, &e.task) {
		t.Fatal("it cannot be watched")
	}
	_, _ = other.Write([]byte("x"))
	_ = other.Close()
	if err := <-e.ended; !errors.Is(err, io.EOF) || e.got.String() != "x" {
		t.Errorf("%q, %v", e.got.String(), err)
	}
	<-wrapped.closed
	idle(t, c)
}

func TestWhatCannotBeWatched(t *testing.T) {
	c := NewWorkerPool(1)
	pipe, _ := net.Pipe()
	if c.Watch(pipe, &Task{}) {
		t.Error("a pipe is watched")
	}
	direct, _ := watched(t, c, nil)
	_ = direct.Close()
	<-direct.ended
	if c.Watch(direct.Conn, &Task{}) {
		t.Error("a connection that is closed is watched")
	}
	if err := c.Release(pipe); err != nil {
		t.Error(err)
	}
	idle(t, c)
}
