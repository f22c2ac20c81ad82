package grpcserver

import (
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

var flowControl = []violation{
	{"connection WINDOW_UPDATE of 0", "RFC 9113, 6.9", func(p *rawClient) { _ = p.WriteWindowUpdate(0, 0) }, goAway("0", http2.ErrCodeProtocol)},
	{"stream WINDOW_UPDATE of 0", "RFC 9113, 6.9", func(p *rawClient) { p.open(1, muteMethod); _ = p.WriteWindowUpdate(1, 0) },
		[]string{"RST 1 PROTOCOL_ERROR"}},
	{"connection window too large", "RFC 9113, 6.9.1", func(p *rawClient) { _ = p.WriteWindowUpdate(0, h2frame.LargestWindow) },
		goAway("0", http2.ErrCodeFlowControl)},
	{"stream window too large", "RFC 9113, 6.9.1", func(p *rawClient) { p.open(1, muteMethod); _ = p.WriteWindowUpdate(1, h2frame.LargestWindow) },
		[]string{"RST 1 FLOW_CONTROL_ERROR"}},
	{"windows of maximum size", "RFC 9113, 6.9.1: they are allowed", func(p *rawClient) {
		p.open(1, muteMethod)
		_ = p.WriteWindowUpdate(0, h2frame.LargestWindow-h2frame.InitialWindow)
		_ = p.WriteWindowUpdate(1, h2frame.LargestWindow-h2frame.InitialWindow)
	}, nil},
	{"initial window size too large", "RFC 9113, 6.5.2", func(p *rawClient) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2frame.LargestWindow + 1})
	}, goAway("0", http2.ErrCodeFlowControl)},
	{"initial window size makes a stream window too large", "RFC 9113, 6.9.2", func(p *rawClient) {
		p.open(1, muteMethod)
		_ = p.WriteWindowUpdate(1, h2frame.LargestWindow-h2frame.InitialWindow)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: h2frame.InitialWindow + 1})
	}, goAway("1", http2.ErrCodeFlowControl)},
	{"data beyond the window", "RFC 9113, 6.9.1", func(p *rawClient) {
		p.open(1, blockedMethod)
		p.send(1, h2frame.FrameSize-messagePrefixLen, false)
		repeat(4, func() { p.send(1, h2frame.FrameSize-messagePrefixLen, false) })
	}, append([]string{"WINDOW 1 +16384", "WINDOW 0 +32768", "WINDOW 0 +32768"}, goAway("1", http2.ErrCodeFlowControl)...)},
	{"data of the size of the window", "RFC 9113, 6.9.1: it is allowed", func(p *rawClient) {
		p.open(1, blockedMethod)
		repeat(3, func() { p.send(1, h2frame.FrameSize-messagePrefixLen, false) })
		p.send(1, h2frame.FrameSize-messagePrefixLen-1, false)
		p.send(1, h2frame.FrameSize-messagePrefixLen, false)
	}, []string{"WINDOW 1 +16384", "WINDOW 0 +32768", "WINDOW 0 +32767"}},
	{"padding", "RFC 9113, 6.9.1: it counts", func(p *rawClient) {
		p.open(1, muteMethod)
		repeat(128, func() { _ = p.WriteDataPadded(1, false, []byte{0}, make([]byte, 255)) })
	}, []string{"WINDOW 1 +8224", "WINDOW 1 +8224", "WINDOW 1 +8224", "WINDOW 0 +32896", "WINDOW 1 +8224"}},
	{"only padding", "RFC 9113, 6.1: it is allowed", func(p *rawClient) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "\x03\x00\x00\x00") }, nil},
	{"padding longer than the frame", "RFC 9113, 6.1", func(p *rawClient) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "\x04\x00\x00\x00") },
		goAway("1", http2.ErrCodeProtocol)},
	{"padding without a length", "RFC 9113, 4.2: too small for what it must have", func(p *rawClient) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "") },
		goAway("1", http2.ErrCodeFrameSize)},
}

var refusedMessage = []string{"HEADERS 1 status=200 grpc-status=8", "RST 1 NO_ERROR"}

var messages = []violation{
	{"a message in single bytes", "gRPC over HTTP2: frames are no borders", func(p *rawClient) {
		p.open(1, echoMethod)
		for _, b := range message(3) {
			_ = p.WriteData(1, false, []byte{b})
		}
	}, []string{"HEADERS 1 status=200", "DATA 1 8"}},
	{"several messages and a partial one in a frame", "gRPC over HTTP2: frames are no borders", func(p *rawClient) {
		p.open(1, sinkMethod)
		all := slices.Concat(message(0), message(2), message(0), message(9))
		_ = p.WriteData(1, false, all[:len(all)-1])
		_ = p.WriteData(1, true, all[len(all)-1:])
	}, []string{"HEADERS 1 status=200 grpc-status=0"}},
	{"a message of 4 GiB", "CVE-2019-9517: nothing is kept for what is only announced", func(p *rawClient) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
		_ = p.WriteData(1, true, []byte{1})
	}, refusedMessage},
	{"a message one byte too large", "Options.MessageSize", func(p *rawClient) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, message(1<<20 + 1)[:messagePrefixLen])
	}, refusedMessage},
	{"END_STREAM within a message", "gRPC over HTTP2", func(p *rawClient) { p.open(1, sinkMethod); _ = p.WriteData(1, true, message(9)[:10]) },
		[]string{"HEADERS 1 status=200 grpc-status=13"}},
	{"END_STREAM after the first byte of a message", "gRPC over HTTP2", func(p *rawClient) { p.open(1, sinkMethod); _ = p.WriteData(1, true, []byte{0}) },
		[]string{"HEADERS 1 status=200 grpc-status=13"}},
	{"trailers within a message", "gRPC over HTTP2", func(p *rawClient) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, []byte{0})
		p.trailers(1, true)
	}, []string{"HEADERS 1 status=200 grpc-status=13"}},
	{"a compressed message", "gRPC over HTTP2: there was no grpc-encoding", func(p *rawClient) { p.open(1, sinkMethod); _ = p.WriteData(1, false, []byte{1, 0, 0, 0, 0}) },
		[]string{"HEADERS 1 status=200 grpc-status=12", "RST 1 NO_ERROR"}},
}

// A send window may become negative. The server sends only after the window is positive again (RFC 9113, 6.9.2).
func TestNegativeSendWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		p := connect(t, h.listener)
		p.open(1, echoMethod)
		p.send(1, 40_000-messagePrefixLen, false)
		if got := p.dataBytes(1); got != 40_000 {
			t.Fatalf("the client received %d bytes", got)
		}
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000})
		p.send(1, 100, true)
		p.expectEvents()
		_ = p.WriteWindowUpdate(1, 30_000)
		p.expectEvents()
		_ = p.WriteWindowUpdate(1, 1)
		p.expectEvents("DATA 1 1")
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_104})
		p.expectEvents("DATA 1 104", "HEADERS 1 grpc-status=0")
	})
}

// All streams share the connection window (RFC 9113, 6.9.1).
func TestStreamsShareConnectionWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		p := connect(t, h.listener)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		for id := uint32(1); id <= 5; id += 2 {
			p.open(id, echoMethod)
			p.send(id, 30_000-messagePrefixLen, false)
		}
		if n := p.dataBytes(0); n != h2frame.InitialWindow {
			t.Errorf("received %d bytes, the window is %d", n, h2frame.InitialWindow)
		}
		_ = p.WriteWindowUpdate(0, 20_000)
		if n := p.dataBytes(0); n != 20_000 {
			t.Errorf("received %d bytes, the window is 20000", n)
		}
		_ = p.WriteWindowUpdate(0, 20_000)
		if n, left := p.dataBytes(0), 3*30_000-h2frame.InitialWindow-20_000; n != left {
			t.Errorf("received %d bytes, want the remaining %d", n, left)
		}
	})
}

// No memory is allocated for a message before it arrives, even without MaxRecvMsgSize.
func TestAnnouncedMessageAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{})
		p := connect(t, h.listener)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for id := uint32(1); id < 100; id += 2 {
			p.open(id, sinkMethod)
			_ = p.WriteData(id, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
		}
		p.expectEvents()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("allocated %d bytes for 50 messages without data", n)
		}
	})
}

// Bytes reserved from the connection window are sent even if the stream ends meanwhile; otherwise the window would
// shrink for good.
func TestWindowOfEndedStreamIsNotLost(t *testing.T) {
	client, ours := net.Pipe()
	c := newConn(&server{}, ours)
	received, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		in := http2.NewFramer(nil, client)
		for {
			f, err := in.ReadFrame()
			if err != nil {
				return
			}
			if f.Header().Type == http2.FrameData {
				received += int(f.Header().Length)
			}
		}
	}()
	large := make([]byte, 100)
	var spins atomic.Int64
	for id := uint32(1); id < 20_000 && c.sendWindow > 100; id += 2 {
		s := &Stream{conn: c, id: id, sendWindow: 1}
		c.streams = append(c.streams, s)
		var both sync.WaitGroup
		both.Go(func() {
			if s.Send(large) == nil {
				t.Error("Send did not block")
			}
		})
		both.Go(func() {
			for range rand.IntN(3000) { // sometimes until Send is in progress
				spins.Add(1)
			}
			c.removeStream(id, h2frame.EndedHere)
		})
		both.Wait()
	}
	_ = ours.Close()
	<-done
	if c.sendWindow+received != h2frame.InitialWindow {
		t.Errorf("%d bytes of the connection's window are lost", h2frame.InitialWindow-c.sendWindow-received)
	}
}

func TestCloseInterruptsSend(t *testing.T) {
	sending := make(chan *Stream, 1)
	ended := make(chan error, 1)
	r := startServer(t, listenLoopback(t),
		Options{Methods: map[string]func(*Stream) StreamHandler{muteMethod: func(s *Stream) StreamHandler {
			go func() {
				sending <- s
				ended <- s.Send(make([]byte, 64<<20))
			}()
			return handlerFuncs{onMessage: func([]byte) {}, onEnd: s.Finish}
		}}})
	for name, window := range map[string]uint32{"the client's window is empty": 0,
		"the client does not read": h2frame.LargestWindow - h2frame.InitialWindow} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			p := &rawClient{Framer: http2.NewFramer(conn, nil), conn: conn}
			p.encoder = newEncoder(p)
			p.sendPreface()
			if window > 0 {
				_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
				_ = p.WriteWindowUpdate(0, window)
			}
			p.open(1, muteMethod)
			s := <-sending
			eventually(t, "Send blocks", func() bool {
				s.conn.mu.Lock()
				defer s.conn.mu.Unlock()
				return s.sendWindow < int(h2frame.InitialWindow+window)
			})
			select {
			case err := <-ended:
				t.Fatalf("Send returned: %v", err)
			case <-time.After(10 * time.Millisecond): // an error after this time shows below
			}
			_ = s.Conn().Close()
			if err := <-ended; err == nil {
				t.Error("Send was not interrupted")
			}
		})
	}
}
