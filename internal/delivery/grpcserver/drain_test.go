package grpcserver

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The client receives a first GOAWAY that permits streams, and the last one when it has acknowledged the PING.
func TestMaxConnectionAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxConnectionAge: time.Hour, DrainTime: 10 * time.Second})
		p := connect(t, h.listener)
		p.acksPings.Store(true)
		p.open(1, sinkMethod)
		p.takeEvents()
		start := time.Now()
		got := p.takeEvents()
		for len(got) == 0 && time.Since(start) < 2*time.Hour {
			time.Sleep(time.Second)
			got = p.takeEvents()
		}
		want := []string{"GOAWAY 2147483647 NO_ERROR", "GOAWAY 1 NO_ERROR"}
		if age := time.Since(start); !slices.Equal(got, want) || age < 54*time.Minute || age > 67*time.Minute {
			t.Errorf("the client received %q after %v", got, age)
		}
		p.open(3, sinkMethod) // ignored
		p.send(1, 5, false)   // still served
		time.Sleep(5 * time.Second)
		p.expectEvents()
		if one := h.handlers.all(); len(one) != 1 || !slices.Equal(one[0].sizes, []int{5}) {
			t.Errorf("%d streams were handled", len(one))
		}
		time.Sleep(5 * time.Second)
		p.expectEvents("HEADERS 1 status=200 grpc-status=14", "RST 1 NO_ERROR")
		time.Sleep(CloseTimeout)
		p.expectEvents("closed")
		if got := h.handlers.all()[0].endCodes(); !slices.Equal(got, []codes.Code{codes.Unavailable}) {
			t.Errorf("the handler received %v", got)
		}
	})
}

// A client that does not acknowledge the PING receives the last GOAWAY nevertheless.
func TestDrainWithoutPingAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{DrainTime: time.Minute})
		p := connect(t, h.listener)
		p.open(1, sinkMethod)
		p.takeEvents()
		go h.stop()
		p.expectEvents("GOAWAY 2147483647 NO_ERROR", "PING ack=false")
		p.open(3, sinkMethod) // sent before the client received the GOAWAY
		time.Sleep(drainPingTimeout)
		if got := p.takeEvents(); len(got) == 0 || got[0] != "GOAWAY 3 NO_ERROR" && !strings.HasSuffix(got[0], "=14") {
			t.Errorf("the client received %q", got)
		}
		time.Sleep(time.Minute)
		<-p.done
	})
}

func TestShutdownEndsStreams(t *testing.T) {
	for name, l := range map[string]func(*testing.T) net.Listener{
		"pool":      func(t *testing.T) net.Listener { return listenLoopback(t) },
		"goroutine": func(t *testing.T) net.Listener { return grpcRequestListener{listenLoopback(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Int32
			methods := map[string]func(*Stream) StreamHandler{sinkMethod: func(s *Stream) StreamHandler {
				return handlerFuncs{onMessage: func(m []byte) { _ = s.Send(m) }, onEnd: func(err error) {
					ended.Add(1)
					s.Finish(err)
				}}
			}}
			r := startServer(t, l(t), Options{Methods: methods, DrainTime: 100 * time.Millisecond})
			var streams []grpc.ClientStream
			for range 20 {
				s := openStream(t, dial(t, r), sinkMethod)
				_ = s.SendMsg([]byte("x"))
				if _, err := receive(s); err != nil {
					t.Fatal(err)
				}
				streams = append(streams, s)
			}
			r.stop()
			for _, s := range streams {
				if _, err := receive(s); status.Code(err) != codes.Unavailable ||
					status.Convert(err).Message() != status.Convert(ErrShutdown).Message() {
					t.Errorf("a stream ended with %v", err)
				}
			}
			if ended.Load() != 20 {
				t.Errorf("OnEnd was called %d times", ended.Load())
			}
		})
	}
}

// A client that ignores GOAWAY does not delay the shutdown.
func TestShutdownClosesConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{DrainTime: 10 * time.Second})
		p := connect(t, h.listener)
		p.open(1, muteMethod)
		blocked := connect(t, h.listener)
		blocked.open(1, blockedMethod)
		blocked.send(1, 1, false)
		silent := h.listener.dial() // no preface
		p.takeEvents()
		start := time.Now()
		h.stop()
		if took := time.Since(start); took > 10*time.Second+CloseTimeout {
			t.Errorf("the shutdown took %v", took)
		}
		_ = silent.Close()
		if got := p.takeEvents(); got[len(got)-1] != "closed" {
			t.Errorf("the client received %q", got)
		}
		if got := h.refusalReasons(); !slices.Contains(got, RefusedLateClose) {
			t.Errorf("got refusals %q, want %q", got, RefusedLateClose)
		}
	})
}

// grpc-go opens new streams on another connection after GOAWAY.
func TestClientReconnectsAfterMaxConnectionAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		startServer(t, l, Options{Methods: echoMethods, MaxConnectionAge: time.Hour, DrainTime: time.Second})
		var dialed atomic.Int32
		r := &testServer{address: "pipe"}
		conn := dial(t, r, grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			dialed.Add(1)
			return l.dial(), nil
		}))
		for i := range 4 {
			s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, echoMethod)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				if err = s.SendMsg([]byte("hello")); err == nil {
					_, err = receive(s)
				}
				time.Sleep(time.Minute)
			}
			if _, err := receive(s); status.Code(err) != codes.Unavailable {
				t.Errorf("stream %d ended with %v", i, err)
			}
		}
		if n := dialed.Load(); n < 4 {
			t.Errorf("%d connections, want one for each stream", n)
		}
		conn.Close()
	})
}

func TestAgeJitter(t *testing.T) {
	s := &server{Options: Options{MaxConnectionAge: 100 * time.Second}}
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		low, high = min(low, s.connectionAge()), max(high, s.connectionAge())
	}
	if low < 90*time.Second || high > 110*time.Second || high-low < 10*time.Second {
		t.Errorf("the ages are between %v and %v", low, high)
	}
	if age := (&server{}).connectionAge(); age != 0 {
		t.Errorf("got %v without a limit", age)
	}
}
