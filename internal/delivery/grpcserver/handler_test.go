package grpcserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestClientCancel(t *testing.T) {
	var all recordingHandlers
	r := startServer(t, listenLoopback(t),
		Options{Methods: map[string]func(*Stream) StreamHandler{sinkMethod: all.open, echoMethod: echo}})
	conn := dial(t, r)
	for _, before := range []int{0, 1, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, sinkMethod)
		if err != nil {
			t.Fatal(err)
		}
		for range before {
			s.SendMsg([]byte("x"))
		}
		eventually(t, "the stream is open", func() bool { return len(all.all()) == before+1 })
		call := all.all()[before]
		early := call.stream.Context()
		cancel()
		eventually(t, "the handler receives the end",
			func() bool { return slices.Equal(call.endCodes(), []codes.Code{codes.Canceled}) })
		<-early.Done()
		<-call.stream.Context().Done()
		if err := call.stream.Send([]byte("late")); err == nil {
			t.Error("Send succeeds on an ended stream")
		}
		checkEcho(t, conn)
	}
}

func TestConnectionLost(t *testing.T) {
	var all recordingHandlers
	r := startServer(t, listenLoopback(t),
		Options{Methods: map[string]func(*Stream) StreamHandler{sinkMethod: all.open}})
	conn := dial(t, r)
	s := openStream(t, conn, sinkMethod)
	s.SendMsg([]byte("x"))
	eventually(t, "the stream is open", func() bool { return len(all.all()) == 1 })
	call := all.all()[0]
	_ = call.stream.Conn().Close()
	if _, err := receive(s); status.Code(err) != codes.Unavailable {
		t.Errorf("client error %v", err)
	}
	eventually(t, "the handler receives the end",
		func() bool { return slices.Equal(call.endCodes(), []codes.Code{codes.Unavailable}) })
	<-call.stream.Context().Done()
}

// While the first message is handled, other streams are served and later messages of the stream wait, for every way
// that the stream ends.
func TestFirstMessageDoesNotBlockConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(s grpc.ClientStream, cancel func())
		want codes.Code
	}{
		"the client sends END_STREAM": {func(s grpc.ClientStream, _ func()) { s.CloseSend() }, codes.OK},
		"the client cancels":          {func(_ grpc.ClientStream, cancel func()) { cancel() }, codes.Canceled},
		"the client sends a too large message": {func(s grpc.ClientStream, _ func()) {
			s.SendMsg(make([]byte, 5000))
		}, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			const count = 100
			release, taken, ends := make(chan struct{}), make(chan []byte, count), make(chan error, 2)
			slow := func(s *Stream) StreamHandler {
				return handlerFuncs{
					onMessage: func(message []byte) {
						if message[0] == 0 {
							<-release
						}
						taken <- bytes.Clone(message)
					},
					onEnd: func(err error) {
						ends <- err
						s.Finish(err)
					},
				}
			}
			r := startServer(t, listenLoopback(t), Options{MaxRecvMsgSize: 4000,
				Methods: map[string]func(*Stream) StreamHandler{"/slow": slow, echoMethod: echo}})
			conn := dial(t, r)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/slow")
			if err != nil {
				t.Fatal(err)
			}
			for i := range count {
				if err := s.SendMsg(append([]byte{byte(i)}, make([]byte, 500)...)); err != nil {
					t.Fatal(err)
				}
			}
			checkEcho(t, conn)
			tt.end(s, cancel)
			checkEcho(t, conn) // the server has handled the end by now
			select {
			case <-taken:
				t.Fatal("the first message did not block the others")
			case err := <-ends:
				t.Fatalf("OnEnd was called before OnMessage returned: %v", err)
			default:
			}
			close(release)
			if got := status.Code(<-ends); got != tt.want {
				t.Errorf("OnEnd with %v, want %v", got, tt.want)
			}
			close(taken) // a message after OnEnd panics
			i := 0
			for message := range taken {
				if message[0] != byte(i) {
					t.Errorf("message %d is number %d", i, message[0])
				}
				i++
			}
			if i != count && tt.want != codes.Canceled {
				t.Errorf("%d messages", i)
			}
		})
	}
}

// Finish interrupts Send. The client does not receive a partial message.
func TestFinishInterruptsSend(t *testing.T) {
	streams, sent := make(chan *Stream, 1), make(chan error, 1)
	r := startServer(t, listenLoopback(t), Options{Methods: map[string]func(*Stream) StreamHandler{echoMethod: echo,
		"/large": func(s *Stream) StreamHandler {
			return handlerFuncs{onMessage: func([]byte) {
				streams <- s
				sent <- s.Send(make([]byte, 32<<20))
			}, onEnd: s.Finish}
		}}})
	conn := dial(t, r, grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(1<<20))
	for range 20 { // exhausts the connection window if any of it is lost
		s := openStream(t, conn, "/large")
		s.SendMsg([]byte("x"))
		stream := <-streams
		eventually(t, "the window is full", func() bool {
			stream.conn.mu.Lock()
			defer stream.conn.mu.Unlock()
			return stream.sendWindow == 0
		})
		stream.Finish(status.Error(codes.Aborted, "enough"))
		if err := <-sent; err == nil {
			t.Error("Send was not interrupted")
		}
		if got, err := receive(s); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the client received %d bytes, %v", len(got), err)
		}
		checkEcho(t, conn)
	}
}

func TestMaxConcurrentStreams(t *testing.T) {
	var all recordingHandlers
	r := startServer(t, listenLoopback(t), Options{MaxConcurrentStreams: 2,
		Methods: map[string]func(*Stream) StreamHandler{sinkMethod: all.open}})
	conn := dial(t, r)
	first, second := openStream(t, conn, sinkMethod), openStream(t, conn, sinkMethod)
	type result struct {
		stream grpc.ClientStream
		err    error
	}
	third := make(chan result)
	go func() {
		s, err := newStream(t, conn, sinkMethod)
		third <- result{s, err}
	}()
	eventually(t, "two streams are open", func() bool { return len(all.all()) == 2 })
	select {
	case <-third:
		t.Error("a third stream was opened")
	default:
	}
	first.CloseSend()
	opened := <-third
	if opened.err != nil {
		t.Fatal(opened.err)
	}
	eventually(t, "the third stream is open", func() bool { return len(all.all()) == 3 })
	for _, s := range []grpc.ClientStream{second, opened.stream} {
		s.CloseSend()
		if _, err := receive(s); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// A message may have no parts or empty parts.
func TestSendMessageParts(t *testing.T) {
	for name, parts := range map[string][][]byte{
		"none": nil, "one that is empty": {{}}, "nil": {nil, nil}, "one": {[]byte("one")},
		"some that are empty": {nil, []byte("a"), {}, {}, []byte("b"), nil},
		"many":                slices.Repeat([][]byte{[]byte("abc")}, 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			r := startServer(t, listenLoopback(t),
				Options{Methods: map[string]func(*Stream) StreamHandler{"/parts": func(s *Stream) StreamHandler {
					return handlerFuncs{onMessage: func([]byte) { s.Finish(s.Send(parts...)) }, onEnd: s.Finish}
				}}})
			s := openStream(t, dial(t, r), "/parts")
			s.SendMsg([]byte{})
			if got, err := receive(s); err != nil || !bytes.Equal(got, slices.Concat(parts...)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}
