package grpcserver

import (
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

func TestKeepaliveClosesSilentConnection(t *testing.T) {
	for name, begin := range map[string]func(p *rawClient){
		"after the preface":          func(*rawClient) {},
		"with an open stream":        func(p *rawClient) { p.open(1, muteMethod) },
		"within a message":           func(p *rawClient) { p.open(1, muteMethod); _ = p.WriteData(1, false, []byte{0}) },
		"within a frame":             func(p *rawClient) { _, _ = p.conn.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1}) },
		"within a frame header":      func(p *rawClient) { _, _ = p.conn.Write([]byte{0, 0}) },
		"within a header block":      func(p *rawClient) { _, _ = p.conn.Write([]byte{0, 0, 0, 1, 0, 0, 0, 0, 1}) },
		"while a message is handled": func(p *rawClient) { p.open(1, blockedMethod); p.send(1, 1, false) },
		"after END_STREAM":           func(p *rawClient) { p.open(1, muteMethod); p.send(1, 1, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRawServer(t, Options{})
				p := connect(t, h.listener)
				began := time.Now()
				begin(p)
				p.expectEvents()
				time.Sleep(2*pingAfter - time.Second) // frames were received in the first interval
				p.expectEvents()
				time.Sleep(2 * time.Second)
				p.expectEvents("PING ack=false")
				<-p.done
				p.expectEvents("closed")
				if d := time.Since(began); d > 2*pingAfter+PingTimeout+time.Second {
					t.Errorf("closed after %v", d)
				}
				if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedPing}) {
					t.Errorf("got refusals %q", got)
				}
			})
		})
	}
}

// Endless empty CONTINUATION frames do not count as activity (CVE-2024-27316).
func TestEmptyContinuationsAreNoActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		p := connect(t, h.listener)
		began := time.Now()
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
		for p.WriteContinuation(1, false, nil) == nil {
			time.Sleep(time.Second)
			if time.Since(began) > time.Hour {
				t.Fatal("the connection is not closed")
			}
		}
	})
}

func TestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		unused, used := connect(t, h.listener), connect(t, h.listener)
		used.open(1, muteMethod)
		began := time.Now()
		unused.acksPings.Store(true)
		used.acksPings.Store(true)
		<-unused.done
		unused.expectEvents(goAway("0", http2.ErrCodeNo)...)
		if d := time.Since(began); d < MaxConnectionIdle || d > MaxConnectionIdle+2*pingAfter {
			t.Errorf("closed after %v", d)
		}
		time.Sleep(time.Hour)
		used.expectEvents()
		checkRawEcho(used, 3)
		_ = used.WriteRSTStream(1, http2.ErrCodeCancel)
		began = time.Now()
		<-used.done
		if d := time.Since(began); d < MaxConnectionIdle-pingAfter || d > MaxConnectionIdle+2*pingAfter {
			t.Errorf("closed %v after the last stream", d)
		}
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedIdle, RefusedIdle}) {
			t.Errorf("got refusals %q", got)
		}
	})
}

// A slow client stays connected as long as it reads.
func TestSlowReaderIsNotDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 100_000
		l := newPipeListener()
		sent := make(chan error, 1)
		startServer(t, l,
			Options{Methods: map[string]func(*Stream) StreamHandler{muteMethod: func(s *Stream) StreamHandler {
				go func() { sent <- s.Send(make([]byte, size)) }()
				return handlerFuncs{onMessage: func([]byte) {}, onEnd: s.Finish}
			}}})
		p := &rawClient{conn: l.dial()}
		p.Framer = http2.NewFramer(p.conn, nil)
		p.encoder = newEncoder(p)
		go func() {
			p.sendPreface()
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2frame.LargestWindow})
			_ = p.WriteWindowUpdate(0, h2frame.LargestWindow-h2frame.InitialWindow)
			p.open(1, muteMethod)
		}()
		for got := int64(0); got < size; {
			n, err := io.CopyN(io.Discard, p.conn, 500) // a frame takes half a minute
			if got += n; err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			time.Sleep(time.Second)
		}
		go func() { _, _ = io.Copy(io.Discard, p.conn) }()
		if err := <-sent; err != nil {
			t.Error(err)
		}
		_ = p.conn.Close()
	})
}

// A client that violates the protocol and does not read GOAWAY is disconnected.
func TestClientThatDoesNotReadGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		startServer(t, l, Options{})
		conn := l.dial()
		hello := make([]byte, h2frame.HeaderLen+12)
		if _, err := io.ReadFull(conn, hello); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, http2.ClientPreface+strings.Repeat("\xff", h2frame.HeaderLen))
		began := time.Now()
		for {
			if _, err := conn.Write([]byte{0}); err != nil {
				break
			}
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("closed after %v", d)
		}
	})
}

// Messages queued behind a first message that ended its stream cause no WINDOW_UPDATE: nothing follows RST_STREAM
// (RFC 9113, 5.1).
func TestNothingFollowsRSTStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		release := make(chan struct{})
		startServer(t, l,
			Options{Methods: map[string]func(*Stream) StreamHandler{muteMethod: func(s *Stream) StreamHandler {
				return handlerFuncs{onMessage: func([]byte) {
					<-release
					s.Finish(nil)
				}, onEnd: func(error) { t.Error("OnEnd after Finish") }}
			}}})
		p := connect(t, l)
		p.open(1, muteMethod)
		p.send(1, 0, false)
		p.send(1, 40_000, false)
		p.expectEvents("WINDOW 0 +32773")
		close(release)
		p.expectEvents("HEADERS 1 status=200 grpc-status=0", "RST 1 NO_ERROR")
	})
}

// The kernel probes established connections, although their listener accepts without keepalive. Thereby a connection
// ends that the client has forgotten while nothing is sent.
func TestEstablishedConnectionsAreProbed(t *testing.T) {
	config := net.ListenConfig{KeepAlive: -1}
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan uintptr, 1)
	r := startServer(t, duplicatingListener{l, accepted}, Options{Methods: echoMethods})
	checkEcho(t, dial(t, r))
	fd := int(<-accepted)
	defer func() { _ = syscall.Close(fd) }()
	if on, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); err != nil || on != 1 {
		t.Errorf("SO_KEEPALIVE is %d, %v", on, err)
	}
}

// duplicatingListener sends duplicates of the descriptors of connections.
type duplicatingListener struct {
	net.Listener
	accepted chan<- uintptr
}

func (l duplicatingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	err = raw.Control(func(fd uintptr) {
		if own, err := syscall.Dup(int(fd)); err == nil {
			l.accepted <- uintptr(own)
		}
	})
	return c, err
}
