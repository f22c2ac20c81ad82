package observe

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"

	"anymesh.dev/anymesh/model"
)

// TestStatusOfTheLastTry checks that a call has the status of its last try, even if the client sends its message after
// the server ended the call.
func TestStatusOfTheLastTry(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counter := &requestCounter{tries: map[string]int{}}
	(&server{name: "g", counter: counter}).serve(listener, model.GRPC, nil)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithStatsHandler(lateMessages{}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(`{"methodConfig": [{
			"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s",
				"backoffMultiplier": 1, "retryableStatusCodes": ["INTERNAL"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines, err := parseLines("from front: grpc http://g:8080/a.B/C (internal) => g; 3 tries; response internal")
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(lines[0], netip.AddrPort{}, nil)
	c.library = &library{open: map[string]*grpc.ClientConn{"xds:///g:8080 g:8080": conn}}
	for range 100 {
		seen, err := c.send(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seen.Status != "internal" || counter.count(c.id()) != 3 {
			t.Fatalf("the status is %q after %d tries, want internal after 3", seen.Status, counter.count(c.id()))
		}
	}
}

// lateMessages delays messages of clients, so that servers end most calls before.
type lateMessages struct{}

func (lateMessages) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, is := s.(*stats.OutHeader); is {
		time.Sleep(time.Millisecond)
	}
}

func (lateMessages) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (lateMessages) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (lateMessages) HandleConn(context.Context, stats.ConnStats)                       {}
