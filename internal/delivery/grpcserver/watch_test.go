package grpcserver

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

func TestWhoIsSilentIsAskedAndThenCutOff(t *testing.T) {
	for name, begin := range map[string]func(p *peer){
		"after the first words":        func(*peer) {},
		"in a stream":                  func(p *peer) { p.open(1, muteMethod) },
		"in a message":                 func(p *peer) { p.open(1, muteMethod); _ = p.WriteData(1, false, []byte{0}) },
		"in a frame":                   func(p *peer) { _, _ = p.conn.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1}) },
		"in the header of a frame":     func(p *peer) { _, _ = p.conn.Write([]byte{0, 0}) },
		"in the headers of a stream":   func(p *peer) { _, _ = p.conn.Write([]byte{0, 0, 0, 1, 0, 0, 0, 0, 1}) },
		"while a message is taken in":  func(p *peer) { p.open(1, blockedMethod); p.send(1, 1, false) },
		"after it has said all it had": func(p *peer) { p.open(1, muteMethod); p.send(1, 1, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHostile(t, Options{})
				p := connect(t, h.l)
				began := time.Now()
				begin(p)
				p.expect()
				time.Sleep(2*silence - time.Second) // it was heard in the first
				p.expect()
				time.Sleep(2 * time.Second)
				p.expect("PING ack=false")
				<-p.done
				p.expect("closed")
				if d := time.Since(began); d > 2*silence+answer+time.Second {
					t.Errorf("after %v", d)
				}
			})
		})
	}
}

// Headers that go on for ever without saying anything are a silence (CVE-2024-27316).
func TestEmptyContinuationsAreASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{})
		p := connect(t, h.l)
		began := time.Now()
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
		for p.WriteContinuation(1, false, nil) == nil {
			time.Sleep(time.Second)
			if time.Since(began) > time.Hour {
				t.Fatal("it may go on for ever")
			}
		}
	})
}

func TestConnectionsThatNobodyUsesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{})
		unused, used := connect(t, h.l), connect(t, h.l)
		used.open(1, muteMethod)
		began := time.Now()
		unused.polite.Store(true)
		used.polite.Store(true)
		<-unused.done
		unused.expect(goAway("0", http2.ErrCodeNo)...)
		if d := time.Since(began); d < idle || d > idle+2*silence {
			t.Errorf("it ends after %v", d)
		}
		time.Sleep(time.Hour)
		used.expect()
		answers(used, 3)
		_ = used.WriteRSTStream(1, http2.ErrCodeCancel)
		began = time.Now()
		<-used.done
		if d := time.Since(began); d < idle-silence || d > idle+2*silence {
			t.Errorf("the other ends %v after its last stream", d)
		}
	})
}

// A client may take its time, as long as it takes something.
func TestSlowReadersAreNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 100_000
		l := newPipes()
		sent := make(chan error, 1)
		start(t, l, Options{Methods: map[string]func(*Stream) Call{muteMethod: func(s *Stream) Call {
			go func() { sent <- s.Send(make([]byte, size)) }()
			return functions{take: func([]byte) {}, end: s.Finish}
		}}})
		p := &peer{conn: l.dial()}
		p.Framer = http2.NewFramer(p.conn, nil)
		p.encoder = newEncoder(p)
		go func() {
			p.begin()
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: largestWindow})
			_ = p.WriteWindowUpdate(0, largestWindow-firstWindow)
			p.open(1, muteMethod)
		}()
		for got := int64(0); got < size; {
			n, err := io.CopyN(io.Discard, p.conn, 500) // of a frame that takes half a minute
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

// A client that breaks the rules and does not read what it is told about that is gone soon.
func TestWhoDoesNotReadTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		start(t, l, Options{})
		conn := l.dial()
		hello := make([]byte, frameHeader+12)
		if _, err := io.ReadFull(conn, hello); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, http2.ClientPreface+strings.Repeat("\xff", frameHeader))
		began := time.Now()
		for {
			if _, err := conn.Write([]byte{0}); err != nil {
				break
			}
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("after %v", d)
		}
	})
}

// What was behind a first message that ended its stream asks for no more (RFC 9113, 5.1: nothing follows RST_STREAM).
func TestNothingFollowsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		release := make(chan struct{})
		start(t, l, Options{Methods: map[string]func(*Stream) Call{muteMethod: func(s *Stream) Call {
			return functions{take: func([]byte) {
				<-release
				s.Finish(nil)
			}, end: func(error) { t.Error("an end after Finish") }}
		}}})
		p := connect(t, l)
		p.open(1, muteMethod)
		p.send(1, 0, false)
		p.send(1, 40_000, false)
		p.expect("WINDOW 0 +32773")
		close(release)
		p.expect("HEADERS 1 status=200 grpc-status=0", "RST 1 NO_ERROR")
	})
}
