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

func TestTheClientCancels(t *testing.T) {
	var all sinks
	r := start(t, loopback(t), Options{Methods: map[string]func(*Stream) Call{sinkMethod: all.open, echoMethod: echo}})
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
		eventually(t, "it is open", func() bool { return len(all.calls()) == before+1 })
		call := all.calls()[before]
		early := call.stream.Context()
		cancel()
		eventually(t, "it ends", func() bool { return slices.Equal(call.ended(), []codes.Code{codes.Canceled}) })
		<-early.Done()
		<-call.stream.Context().Done()
		if err := call.stream.Send([]byte("late")); err == nil {
			t.Error("it can still send")
		}
		echoes(t, conn)
	}
}

func TestTheConnectionIsLost(t *testing.T) {
	var all sinks
	r := start(t, loopback(t), Options{Methods: map[string]func(*Stream) Call{sinkMethod: all.open}})
	conn := dial(t, r)
	s := open(t, conn, sinkMethod)
	s.SendMsg([]byte("x"))
	eventually(t, "it is open", func() bool { return len(all.calls()) == 1 })
	call := all.calls()[0]
	_ = call.stream.Conn().Close()
	if _, err := receive(s); status.Code(err) != codes.Unavailable {
		t.Errorf("the client sees %v", err)
	}
	eventually(t, "it ends", func() bool { return slices.Equal(call.ended(), []codes.Code{codes.Unavailable}) })
	<-call.stream.Context().Done()
}

// While the first message is taken in, other streams are served, and what comes behind it waits, however the stream ends.
func TestTheFirstMessageMayTakeLong(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(s grpc.ClientStream, cancel func())
		want codes.Code
	}{
		"the client says that this was all": {func(s grpc.ClientStream, _ func()) { s.CloseSend() }, codes.OK},
		"the client cancels":                {func(_ grpc.ClientStream, cancel func()) { cancel() }, codes.Canceled},
		"the client sends too large a message": {func(s grpc.ClientStream, _ func()) {
			s.SendMsg(make([]byte, 5000))
		}, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			const count = 100
			release, taken, ends := make(chan struct{}), make(chan []byte, count), make(chan error, 2)
			slow := func(s *Stream) Call {
				return functions{
					take: func(message []byte) {
						if message[0] == 0 {
							<-release
						}
						taken <- bytes.Clone(message)
					},
					end: func(err error) {
						ends <- err
						s.Finish(err)
					},
				}
			}
			r := start(t, loopback(t), Options{MessageSize: 4000, Methods: map[string]func(*Stream) Call{"/slow": slow, echoMethod: echo}})
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
			echoes(t, conn)
			tt.end(s, cancel)
			echoes(t, conn) // so the server knows
			select {
			case <-taken:
				t.Fatal("it did not wait")
			case err := <-ends:
				t.Fatalf("it ended before it began: %v", err)
			default:
			}
			close(release)
			if got := status.Code(<-ends); got != tt.want {
				t.Errorf("it ended with %v, want %v", got, tt.want)
			}
			close(taken) // a message behind the end panics
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

// Finish interrupts who sends; what the client has of the message is no message.
func TestFinishWhileSending(t *testing.T) {
	streams, sent := make(chan *Stream, 1), make(chan error, 1)
	r := start(t, loopback(t), Options{Methods: map[string]func(*Stream) Call{echoMethod: echo, "/large": func(s *Stream) Call {
		return functions{take: func([]byte) {
			streams <- s
			sent <- s.Send(make([]byte, 32<<20))
		}, end: s.Finish}
	}}})
	conn := dial(t, r, grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(1<<20))
	for range 20 { // which takes all of the connection's window, if any is lost
		s := open(t, conn, "/large")
		s.SendMsg([]byte("x"))
		stream := <-streams
		eventually(t, "the window is full", func() bool {
			stream.conn.mu.Lock()
			defer stream.conn.mu.Unlock()
			return stream.credit == 0
		})
		stream.Finish(status.Error(codes.Aborted, "enough"))
		if err := <-sent; err == nil {
			t.Error("all of it was sent")
		}
		if got, err := receive(s); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the client gets %d bytes, %v", len(got), err)
		}
		echoes(t, conn)
	}
}

func TestNoMoreStreamsThanAllowed(t *testing.T) {
	var all sinks
	r := start(t, loopback(t), Options{Streams: 2, Methods: map[string]func(*Stream) Call{sinkMethod: all.open}})
	conn := dial(t, r)
	first, second := open(t, conn, sinkMethod), open(t, conn, sinkMethod)
	third := make(chan grpc.ClientStream)
	go func() { third <- open(t, conn, sinkMethod) }()
	eventually(t, "two are open", func() bool { return len(all.calls()) == 2 })
	select {
	case <-third:
		t.Error("a third was opened")
	default:
	}
	first.CloseSend()
	s := <-third
	eventually(t, "the third is open", func() bool { return len(all.calls()) == 3 })
	for _, s := range []grpc.ClientStream{second, s} {
		s.CloseSend()
		if _, err := receive(s); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// Parts of a message may be empty, and there may be none.
func TestPartsOfMessages(t *testing.T) {
	for name, parts := range map[string][][]byte{
		"none": nil, "one that is empty": {{}}, "nil": {nil, nil}, "one": {[]byte("one")},
		"some that are empty": {nil, []byte("a"), {}, {}, []byte("b"), nil},
		"many":                slices.Repeat([][]byte{[]byte("abc")}, 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, loopback(t), Options{Methods: map[string]func(*Stream) Call{"/parts": func(s *Stream) Call {
				return functions{take: func([]byte) { s.Finish(s.Send(parts...)) }, end: s.Finish}
			}}})
			s := open(t, dial(t, r), "/parts")
			s.SendMsg([]byte{})
			if got, err := receive(s); err != nil || !bytes.Equal(got, slices.Concat(parts...)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}
