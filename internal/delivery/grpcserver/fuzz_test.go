package grpcserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// watched is a call that notices what no call may see, and does what its messages say.
type watched struct {
	t        *testing.T
	stream   *Stream
	inside   atomic.Int32 // of its methods
	ends     atomic.Int32
	finished atomic.Bool
	sending  sync.Mutex // messages go one at a time
	pending  *sync.WaitGroup
}

func (w *watched) enter() (leave func()) {
	if w.inside.Add(1) != 1 {
		w.t.Error("methods of a call overlap")
	}
	if w.ends.Load() > 0 {
		w.t.Error("something comes behind the end")
	}
	return func() { w.inside.Add(-1) }
}

func (w *watched) Take(message []byte) {
	defer w.enter()()
	if len(message) == 0 {
		return
	}
	switch size := int(message[0]); size % 4 {
	case 1:
		w.pending.Go(func() {
			w.sending.Lock()
			defer w.sending.Unlock()
			_ = w.stream.Send(make([]byte, size<<8)) // it may have ended
		})
	case 2:
		w.finished.Store(true) // an end may have been on its way
		w.stream.Finish(nil)
	case 3:
		_ = w.stream.Context().Err()
	}
}

func (w *watched) End(err error) {
	leave := w.enter()
	w.ends.Add(1)
	leave()
	w.stream.Finish(err)
}

// short is memory that is full at last, so that what may be repeated ends.
type short struct{ bytes.Buffer }

func (s *short) Write(p []byte) (int, error) {
	if s.Len() > 20_000 {
		return 0, io.ErrShortWrite
	}
	return s.Buffer.Write(p)
}

// script is frames that a client might send.
func script(write func(p *peer)) []byte {
	var out short
	p := &peer{Framer: http2.NewFramer(&out, nil)}
	p.AllowIllegalWrites = true
	p.encoder = newEncoder(p)
	_ = p.WriteSettings()
	write(p)
	return out.Bytes()
}

// Whatever a client sends: the server neither panics nor blocks, and each call that began ends once, unless it has finished itself.
func FuzzConnection(f *testing.F) {
	f.Add([]byte{})
	f.Add(script(func(p *peer) { p.open(1, sinkMethod); p.send(1, 0, false); p.send(1, 70_000, true) }))
	f.Add(script(func(p *peer) {
		for id := uint32(1); id < 20; id += 2 {
			p.open(id, sinkMethod)
			_ = p.WriteData(id, id%4 == 1, tasks(byte(id), 1, 2, 3))
			_ = p.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}))
	f.Add(script(func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5})
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, tasks(1, 5, 9, 2))
		_ = p.WriteWindowUpdate(1, 1000)
		_ = p.WriteWindowUpdate(0, 1000)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		p.trailers(1, true)
	}))
	f.Add(script(func(p *peer) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "grpc-encoding", Value: "gzip"})
		p.open(3, "/no/method")
		p.open(5, sinkMethod)
		_ = p.WriteDataPadded(5, true, tasks(255), make([]byte, 9))
		_ = p.WritePing(false, [8]byte{1})
		_ = p.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
		_ = p.WritePriority(7, http2.PriorityParam{StreamDep: 5})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, BlockFragment: p.block(sinkMethod)})
		_ = p.WriteContinuation(7, true, nil)
	}))
	for _, table := range [][]broken{framing, streamStates, headerBlocks, flowControl, messages} {
		for _, tt := range table {
			f.Add(script(tt.do))
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) > 1<<20 {
			return
		}
		var mu sync.Mutex
		var calls []*watched
		var pending sync.WaitGroup
		method := func(s *Stream) Call {
			w := &watched{t: t, stream: s, pending: &pending}
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, w)
			return w
		}
		l := newPipes()
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = Serve(ctx, l, Options{Streams: 5, MessageSize: 1 << 16, FramesPerSecond: 20, FrameBurst: 50,
				Methods: map[string]func(*Stream) Call{sinkMethod: method, echoMethod: method, muteMethod: method, blockedMethod: method}})
		}()
		conn := l.dial()
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Write(append([]byte(http2.ClientPreface), sent...)); err != nil && !isClosed(err) {
			t.Errorf("the server does not read on: %v", err)
		}
		if len(sent)%2 == 0 {
			_ = conn.Close()
		}
		cancel()
		for what, done := range map[string]chan struct{}{"Serve": served, "the connection": read} {
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatalf("%s does not end", what)
			}
		}
		pending.Wait()
		_ = conn.Close()
		for _, w := range calls {
			if n := w.ends.Load(); n > 1 || n == 0 && !w.finished.Load() {
				t.Errorf("a call of stream %d ended %d times", w.stream.id, n)
			}
		}
	})
}

func isClosed(err error) bool { return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) }

// tasks are messages that say what the call has to do.
func tasks(first ...byte) (all []byte) {
	for _, b := range first {
		m := message(1)
		m[prefix] = b
		all = append(all, m...)
	}
	return all
}
