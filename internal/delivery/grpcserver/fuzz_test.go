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

// checkedHandler is a handler that checks the rules of StreamHandler, and acts as its messages request.
type checkedHandler struct {
	t        *testing.T
	stream   *Stream
	inside   atomic.Int32 // number of running methods
	ends     atomic.Int32
	finished atomic.Bool
	sending  sync.Mutex // guards Send
	pending  *sync.WaitGroup
}

func (w *checkedHandler) enter() (leave func()) {
	if w.inside.Add(1) != 1 {
		w.t.Error("methods of a handler overlap")
	}
	if w.ends.Load() > 0 {
		w.t.Error("a method is called after OnEnd")
	}
	return func() { w.inside.Add(-1) }
}

func (w *checkedHandler) OnMessage(message []byte) {
	defer w.enter()()
	if len(message) == 0 {
		return
	}
	switch size := int(message[0]); size % 4 {
	case 1:
		w.pending.Go(func() {
			w.sending.Lock()
			defer w.sending.Unlock()
			_ = w.stream.Send(make([]byte, size<<8)) // the stream may have ended
		})
	case 2:
		w.finished.Store(true) // OnEnd may occur at the same time
		w.stream.Finish(nil)
	case 3:
		_ = w.stream.Context().Err()
	}
}

func (w *checkedHandler) OnEnd(err error) {
	leave := w.enter()
	w.ends.Add(1)
	leave()
	w.stream.Finish(err)
}

// boundedBuffer is a buffer with a maximum size, which ends endless repetitions.
type boundedBuffer struct{ bytes.Buffer }

func (s *boundedBuffer) Write(p []byte) (int, error) {
	if s.Len() > 20_000 {
		return 0, io.ErrShortWrite
	}
	return s.Buffer.Write(p)
}

// encodeFrames returns the frames that write sends.
func encodeFrames(write func(p *rawClient)) []byte {
	var out boundedBuffer
	p := &rawClient{Framer: http2.NewFramer(&out, nil)}
	p.AllowIllegalWrites = true
	p.encoder = newEncoder(p)
	_ = p.WriteSettings()
	write(p)
	return out.Bytes()
}

// For any input, the server does not panic or block, and each handler receives OnEnd once, unless it has called
// Finish.
func FuzzConnection(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeFrames(func(p *rawClient) { p.open(1, sinkMethod); p.send(1, 0, false); p.send(1, 70_000, true) }))
	f.Add(encodeFrames(func(p *rawClient) {
		for id := uint32(1); id < 20; id += 2 {
			p.open(id, sinkMethod)
			_ = p.WriteData(id, id%4 == 1, actionMessages(byte(id), 1, 2, 3))
			_ = p.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}))
	f.Add(encodeFrames(func(p *rawClient) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5})
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, actionMessages(1, 5, 9, 2))
		_ = p.WriteWindowUpdate(1, 1000)
		_ = p.WriteWindowUpdate(0, 1000)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		p.trailers(1, true)
	}))
	f.Add(encodeFrames(func(p *rawClient) {
		p.open(1, sinkMethod, hpack.HeaderField{Name: "grpc-encoding", Value: "gzip"})
		p.open(3, "/no/method")
		p.open(5, sinkMethod)
		_ = p.WriteDataPadded(5, true, actionMessages(255), make([]byte, 9))
		_ = p.WritePing(false, [8]byte{1})
		_ = p.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
		_ = p.WritePriority(7, http2.PriorityParam{StreamDep: 5})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 7, BlockFragment: p.headerBlock(sinkMethod)})
		_ = p.WriteContinuation(7, true, nil)
	}))
	for _, table := range [][]violation{framing, streamStates, headerBlocks, flowControl, messages} {
		for _, tt := range table {
			f.Add(encodeFrames(tt.do))
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) > 1<<20 {
			return
		}
		var mu sync.Mutex
		var calls []*checkedHandler
		var pending sync.WaitGroup
		method := func(s *Stream) StreamHandler {
			w := &checkedHandler{t: t, stream: s, pending: &pending}
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, w)
			return w
		}
		l := newPipeListener()
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = Serve(ctx, l, Options{MaxConcurrentStreams: 5, MaxRecvMsgSize: 1 << 16, MaxFramesPerSecond: 20,
				MaxFrameBurst: 50,
				Methods: map[string]func(*Stream) StreamHandler{sinkMethod: method, echoMethod: method,
					muteMethod: method, blockedMethod: method}})
		}()
		conn := l.dial()
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		_ = conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Write(append([]byte(http2.ClientPreface), sent...)); err != nil && !isClosed(err) {
			t.Errorf("the server does not read: %v", err)
		}
		if len(sent)%2 == 0 {
			_ = conn.Close()
		}
		cancel()
		for what, done := range map[string]chan struct{}{"Serve": served, "the connection": read} {
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatalf("timeout: %s", what)
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

// actionMessages returns messages that request actions of a checkedHandler.
func actionMessages(first ...byte) (all []byte) {
	for _, b := range first {
		m := message(1)
		m[messagePrefixLen] = b
		all = append(all, m...)
	}
	return all
}
