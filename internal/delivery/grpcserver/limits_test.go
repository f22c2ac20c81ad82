package grpcserver

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"anymesh.dev/anymesh/internal/h2frame"
)

func TestMaxConnectionsPerClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxConnectionsPerClient: 2})
		one, two := connect(t, h.listener), connect(t, h.listener)
		checkRawEcho(one, 1)
		checkRawEcho(two, 1)
		connect(t, h.listener).expectEvents("GOAWAY 0 ENHANCE_YOUR_CALM", "closed")
		two.close()
		synctest.Wait()
		checkRawEcho(connect(t, h.listener), 1)
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedMaxConnectionsPerClient}) {
			t.Errorf("got refusals %q", got)
		}
	})
}

// Stalled handshakes delay others for a limited time.
func TestMaxHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxHandshakes: 3})
		open := connect(t, h.listener)
		var stalled []*rawClient
		for range 5 {
			stalled = append(stalled, connectRaw(t, h.listener)) // without a preface
		}
		start := time.Now()
		p := connect(t, h.listener)
		checkRawEcho(p, 1)
		if took := time.Since(start); took > 2*minHandshakeTime {
			t.Errorf("a handshake took %v", took)
		}
		checkRawEcho(open, 1)
		if got := stalled[0].takeEvents(); !slices.Equal(got, []string{"closed"}) {
			t.Errorf("the oldest stalled client received %q", got)
		}
		if got := h.refusalReasons(); !slices.Contains(got, RefusedMaxHandshakes) {
			t.Errorf("got refusals %q", got)
		}
	})
}

// One address has few handshakes: others neither wait for them nor are closed for them.
func TestMaxHandshakesPerSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxHandshakes: 3, MaxHandshakesPerSource: 2})
		first, second := connectRaw(t, h.listener), connectRaw(t, h.listener) // without a preface
		synctest.Wait()
		third := connectRaw(t, h.listener)
		synctest.Wait()
		if got := third.takeEvents(); !slices.Equal(got, []string{"closed"}) {
			t.Errorf("the third handshake received %q", got)
		}
		for _, p := range []*rawClient{first, second} {
			if got := p.takeEvents(); slices.Contains(got, "closed") {
				t.Errorf("a handshake within the limit received %q", got)
			}
		}
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedMaxHandshakesPerSource}) {
			t.Errorf("got refusals %q", got)
		}
		first.close()
		synctest.Wait()
		checkRawEcho(connect(t, h.listener), 1)
	})
}

// announce opens a stream and sends a part of a message of a size.
func announce(p *rawClient, id uint32, method string, size, part int) {
	p.open(id, method)
	m := message(size)[:part]
	for len(m) > 0 {
		n := min(len(m), h2frame.FrameSize)
		_ = p.WriteData(id, false, m[:n])
		m = m[n:]
	}
}

func TestMaxUnfinishedPerClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		h := newRawServer(t, Options{MaxUnfinishedPerClient: 150_000, UnfinishedBytes: &used})
		p, other := connect(t, h.listener), connect(t, h.listener)
		announce(p, 1, sinkMethod, 60_000, 50_000)
		announce(other, 1, sinkMethod, 60_000, 20_000)
		p.takeEvents()
		other.takeEvents()
		if n := used.Load(); n < 70_000 || n > 120_000 {
			t.Errorf("%d bytes are charged for 70000 buffered bytes", n)
		}
		announce(other, 3, sinkMethod, 60_000, 40_000) // of the same client
		if got := other.takeEvents(); !slices.Contains(got, "HEADERS 3 status=200 grpc-status=8") {
			t.Errorf("the client received %q", got)
		}
		_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
		_ = other.WriteData(1, true, make([]byte, 0))
		synctest.Wait()
		if n := used.Load(); n != 0 {
			t.Errorf("%d bytes are charged for none", n)
		}
		checkRawEcho(connect(t, h.listener), 1)
	})
}

// The first message is charged until it is handled, also after the end of its stream, and those that wait for it.
func TestFirstMessageIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int64
		release := make(chan struct{})
		l := newPipeListener()
		startServer(t, l, Options{MaxUnfinishedPerClient: 1 << 20, UnfinishedBytes: &used,
			Methods: map[string]func(*Stream) StreamHandler{sinkMethod: func(s *Stream) StreamHandler {
				return handlerFuncs{onMessage: func([]byte) { <-release }, onEnd: s.Finish}
			}}})
		p := connect(t, l)
		p.open(1, sinkMethod)
		p.send(1, 50_000, false)
		repeat(10, func() { p.send(1, 0, false) })
		synctest.Wait()
		n := used.Load()
		if n < 50_000+11*queuedMessageCost || n > 100_000 {
			t.Errorf("%d bytes are charged", n)
		}
		_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
		p.close()
		synctest.Wait()
		if got := used.Load(); got != n {
			t.Errorf("%d bytes are charged after the end, want %d", got, n)
		}
		close(release)
		synctest.Wait()
		if n := used.Load(); n != 0 {
			t.Errorf("%d bytes are charged at last", n)
		}
	})
}

// Beyond MaxUnfinished, the client with the most bytes loses the connections that have them. A sidecar whose
// certificate was stolen keeps its own.
func TestMaxUnfinishedDisconnectsLargest(t *testing.T) {
	var s server
	s.Options = Options{MaxUnfinished: 1000, OnRefused: func(RefusalReason) {}}
	s.clients.byKey = map[string]*client{}
	var conns []*conn
	for i := range 3 {
		c := newConn(&s, &closeRecorder{})
		c.client, c.clientKey = &client{conns: map[*conn]struct{}{c: {}}}, fmt.Sprint(i)
		s.clients.byKey[c.clientKey] = c.client
		conns = append(conns, c)
	}
	idle := newConn(&s, &closeRecorder{})
	idle.client, idle.clientKey = conns[1].client, conns[1].clientKey
	idle.client.conns[idle] = struct{}{}
	conns = append(conns, idle)
	for i, n := range []int{300, 600, 200} {
		s.charge(conns[i], n)
	}
	for i, c := range conns {
		if closed := c.raw.(*closeRecorder).closed; closed != (i == 1) {
			t.Errorf("connection %d: closed %v", i, closed)
		}
	}
}

// closeRecorder is a connection that records whether it is closed.
type closeRecorder struct {
	net.Conn
	closed bool
}

func (c *closeRecorder) Close() error {
	c.closed = true
	return nil
}

// A stream with long headers is refused and counted. The connection stays.
func TestMaxHeaderListSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		p := connect(t, h.listener)
		var long []hpack.HeaderField
		for i := range 20 {
			long = append(long, hpack.HeaderField{Name: fmt.Sprintf("x-%d", i), Value: strings.Repeat("a", MaxHeaderListSize/20)})
		}
		p.open(1, muteMethod, long...)
		if got := fmt.Sprint(p.takeEvents()); !strings.Contains(got, fmt.Sprint(int(codes.ResourceExhausted))) {
			t.Errorf("the client received %s", got)
		}
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedHeaderSize}) {
			t.Errorf("got refusals %q", got)
		}
		checkRawEcho(p, 3)
	})
}
