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
)

var flowControl = []broken{
	{"a window of the connection that grows by 0", "RFC 9113, 6.9", func(p *peer) { _ = p.WriteWindowUpdate(0, 0) }, goAway("0", http2.ErrCodeProtocol)},
	{"a window of a stream that grows by 0", "RFC 9113, 6.9", func(p *peer) { p.open(1, muteMethod); _ = p.WriteWindowUpdate(1, 0) },
		[]string{"RST 1 PROTOCOL_ERROR"}},
	{"a window of the connection that is too large", "RFC 9113, 6.9.1", func(p *peer) { _ = p.WriteWindowUpdate(0, largestWindow) },
		goAway("0", http2.ErrCodeFlowControl)},
	{"a window of a stream that is too large", "RFC 9113, 6.9.1", func(p *peer) { p.open(1, muteMethod); _ = p.WriteWindowUpdate(1, largestWindow) },
		[]string{"RST 1 FLOW_CONTROL_ERROR"}},
	{"windows that are as large as can be", "RFC 9113, 6.9.1: they are allowed", func(p *peer) {
		p.open(1, muteMethod)
		_ = p.WriteWindowUpdate(0, largestWindow-firstWindow)
		_ = p.WriteWindowUpdate(1, largestWindow-firstWindow)
	}, nil},
	{"a first window that is too large", "RFC 9113, 6.5.2", func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: largestWindow + 1})
	}, goAway("0", http2.ErrCodeFlowControl)},
	{"a first window that makes another too large", "RFC 9113, 6.9.2", func(p *peer) {
		p.open(1, muteMethod)
		_ = p.WriteWindowUpdate(1, largestWindow-firstWindow)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: firstWindow + 1})
	}, goAway("1", http2.ErrCodeFlowControl)},
	{"more data than there is room for", "RFC 9113, 6.9.1", func(p *peer) {
		p.open(1, blockedMethod)
		p.send(1, smallestFrame-prefix, false)
		repeat(3, func() { p.send(1, smallestFrame-prefix, false) })
	}, append([]string{"WINDOW 0 +32768", "WINDOW 0 +32768"}, goAway("1", http2.ErrCodeFlowControl)...)},
	{"as much data as there is room for", "RFC 9113, 6.9.1: it is allowed", func(p *peer) {
		p.open(1, blockedMethod)
		repeat(3, func() { p.send(1, smallestFrame-prefix, false) })
		p.send(1, smallestFrame-prefix-1, false)
	}, []string{"WINDOW 0 +32768", "WINDOW 0 +32767"}},
	{"padding", "RFC 9113, 6.9.1: it counts", func(p *peer) {
		p.open(1, muteMethod)
		repeat(128, func() { _ = p.WriteDataPadded(1, false, []byte{0}, make([]byte, 255)) })
	}, []string{"WINDOW 0 +32896", "WINDOW 1 +32896"}},
	{"nothing but padding", "RFC 9113, 6.1: it is allowed", func(p *peer) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "\x03\x00\x00\x00") }, nil},
	{"padding that is longer than the frame", "RFC 9113, 6.1", func(p *peer) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "\x04\x00\x00\x00") },
		goAway("1", http2.ErrCodeProtocol)},
	{"padding without a length", "RFC 9113, 4.2: too small for what it must have", func(p *peer) { p.open(1, muteMethod); raw(p, http2.FrameData, 8, 1, "") },
		goAway("1", http2.ErrCodeFrameSize)},
}

var refusedMessage = []string{"HEADERS 1 status=200 grpc-status=8", "RST 1 NO_ERROR"}

var messages = []broken{
	{"a message cut into single bytes", "gRPC over HTTP2: frames are no borders", func(p *peer) {
		p.open(1, echoMethod)
		for _, b := range message(3) {
			_ = p.WriteData(1, false, []byte{b})
		}
	}, []string{"HEADERS 1 status=200", "DATA 1 8"}},
	{"messages in one frame, and a part of one", "gRPC over HTTP2: frames are no borders", func(p *peer) {
		p.open(1, sinkMethod)
		all := slices.Concat(message(0), message(2), message(0), message(9))
		_ = p.WriteData(1, false, all[:len(all)-1])
		_ = p.WriteData(1, true, all[len(all)-1:])
	}, []string{"HEADERS 1 status=200 grpc-status=0"}},
	{"a message of 4 GiB", "CVE-2019-9517: nothing is kept for what is only announced", func(p *peer) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
		_ = p.WriteData(1, true, []byte{1})
	}, refusedMessage},
	{"a message of one byte more than is allowed", "Options.MessageSize", func(p *peer) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, message(1<<20 + 1)[:prefix])
	}, refusedMessage},
	{"a message that ends too early", "gRPC over HTTP2", func(p *peer) { p.open(1, sinkMethod); _ = p.WriteData(1, true, message(9)[:10]) },
		[]string{"HEADERS 1 status=200 grpc-status=13"}},
	{"a message that is all but its first byte too short", "gRPC over HTTP2", func(p *peer) { p.open(1, sinkMethod); _ = p.WriteData(1, true, []byte{0}) },
		[]string{"HEADERS 1 status=200 grpc-status=13"}},
	{"a message that ends too early, with trailers", "gRPC over HTTP2", func(p *peer) {
		p.open(1, sinkMethod)
		_ = p.WriteData(1, false, []byte{0})
		p.trailers(1, true)
	}, []string{"HEADERS 1 status=200 grpc-status=13"}},
	{"a compressed message", "gRPC over HTTP2: there was no grpc-encoding", func(p *peer) { p.open(1, sinkMethod); _ = p.WriteData(1, false, []byte{1, 0, 0, 0, 0}) },
		[]string{"HEADERS 1 status=200 grpc-status=12", "RST 1 NO_ERROR"}},
}

// A window may become negative, and what is missing has to come before anything is sent (RFC 9113, 6.9.2).
func TestFirstWindowShrinksBelowWhatIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{})
		p := connect(t, h.l)
		p.open(1, echoMethod)
		p.send(1, 40_000-prefix, false)
		if got := p.data(1); got != 40_000 {
			t.Fatalf("the client gets %d bytes", got)
		}
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000})
		p.send(1, 100, true)
		p.expect()
		_ = p.WriteWindowUpdate(1, 30_000)
		p.expect()
		_ = p.WriteWindowUpdate(1, 1)
		p.expect("DATA 1 1")
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_104})
		p.expect("DATA 1 104", "HEADERS 1 grpc-status=0")
	})
}

// All streams share the window of the connection (RFC 9113, 6.9.1).
func TestStreamsShareTheWindowOfTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{})
		p := connect(t, h.l)
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		for id := uint32(1); id <= 5; id += 2 {
			p.open(id, echoMethod)
			p.send(id, 30_000-prefix, false)
		}
		if n := p.data(0); n != firstWindow {
			t.Errorf("%d bytes came, the window is %d", n, firstWindow)
		}
		_ = p.WriteWindowUpdate(0, 20_000)
		if n := p.data(0); n != 20_000 {
			t.Errorf("%d bytes came, the window is 20000", n)
		}
		_ = p.WriteWindowUpdate(0, 20_000)
		if n, left := p.data(0), 3*30_000-firstWindow-20_000; n != left {
			t.Errorf("%d bytes came, %d are left", n, left)
		}
	})
}

// Nothing is kept for a message that is announced, even if any size is allowed.
func TestAnnouncedMessagesTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{})
		p := connect(t, h.l)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for id := uint32(1); id < 100; id += 2 {
			p.open(id, sinkMethod)
			_ = p.WriteData(id, false, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})
		}
		p.expect()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%d bytes for 50 messages of which there is nothing", n)
		}
	})
}

// What is taken of the connection's window is sent, also when the stream ends meanwhile: else the other streams never get it back.
func TestCreditOfStreamsThatEndIsNotLost(t *testing.T) {
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
	for id := uint32(1); id < 20_000 && c.credit > 100; id += 2 {
		s := &Stream{conn: c, id: id, credit: 1}
		c.streams = append(c.streams, s)
		var both sync.WaitGroup
		both.Go(func() {
			if s.Send(large) == nil {
				t.Error("the window did not stop it")
			}
		})
		both.Go(func() {
			for range rand.IntN(3000) { // until the other is in the middle of it, sometimes
				spins.Add(1)
			}
			c.remove(id)
		})
		both.Wait()
	}
	_ = ours.Close()
	<-done
	if c.credit+received != firstWindow {
		t.Errorf("%d bytes of the connection's window are lost", firstWindow-c.credit-received)
	}
}

func TestClosingTheConnectionReleasesWhoSends(t *testing.T) {
	sending := make(chan *Stream, 1)
	ended := make(chan error, 1)
	r := start(t, loopback(t), Options{Methods: map[string]func(*Stream) Call{muteMethod: func(s *Stream) Call {
		go func() {
			sending <- s
			ended <- s.Send(make([]byte, 64<<20))
		}()
		return functions{take: func([]byte) {}, end: s.Finish}
	}}})
	for name, window := range map[string]uint32{"it gives no room": 0, "it does not read": largestWindow - firstWindow} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			p := &peer{Framer: http2.NewFramer(conn, nil), conn: conn}
			p.encoder = newEncoder(p)
			p.begin()
			if window > 0 {
				_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
				_ = p.WriteWindowUpdate(0, window)
			}
			p.open(1, muteMethod)
			s := <-sending
			eventually(t, "it has sent what it can", func() bool {
				s.conn.mu.Lock()
				defer s.conn.mu.Unlock()
				return s.credit < int(firstWindow+window)
			})
			select {
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-time.After(10 * time.Millisecond): // it may well end later, which is seen below
			}
			_ = s.Conn().Close()
			if err := <-ended; err == nil {
				t.Error("it could send all")
			}
		})
	}
}
