package connlimit

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"
)

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

func TestLimits(t *testing.T) {
	var refused []Reason
	node := netip.MustParseAddr("10.0.0.1")
	l := New(Limits{
		PerSource: 2, Total: 3, ExemptTotal: 1, Exempt: func(a netip.Addr) bool { return a == node },
		OnRefused: func(r Reason) { refused = append(refused, r) },
	})
	acquire := func(from string, want bool) func() {
		t.Helper()
		release, ok := l.Acquire(address(from))
		if ok != want {
			t.Errorf("%s: got %v, want %v", from, ok, want)
		}
		return release
	}
	first := acquire("10.0.0.2:1", true)
	acquire("10.0.0.2:2", true)
	acquire("10.0.0.2:3", false)
	acquire("[::ffff:10.0.0.2]:4", false)
	acquire("10.0.0.3:1", true)
	acquire("10.0.0.4:1", false)
	acquire("10.0.0.1:1", true)
	acquire("10.0.0.1:2", false)
	first()
	first()
	acquire("[fd00::1]:1", true)
	acquire("10.0.0.2:5", false)
	want := []Reason{Source, Source, Total, Total, Total}
	if len(refused) != len(want) {
		t.Fatalf("refused %v, want %v", refused, want)
	}
	for i := range want {
		if refused[i] != want[i] {
			t.Errorf("refused %v, want %v", refused, want)
		}
	}
}

// New connections of an address are limited by their rate, too, but not those that are exempt.
func TestRate(t *testing.T) {
	var refused []Reason
	node := netip.MustParseAddr("10.0.0.1")
	l := New(Limits{
		PerSecond: 1e-9, Burst: 2, Exempt: func(a netip.Addr) bool { return a == node },
		OnRefused: func(r Reason) { refused = append(refused, r) },
	})
	for i, step := range []struct {
		from string
		ok   bool
	}{
		{"10.0.0.2:1", true}, {"10.0.0.2:2", true}, {"10.0.0.2:3", false}, {"[::ffff:10.0.0.2]:4", false}, {"10.0.0.3:1", true},
		{"10.0.0.1:1", true}, {"10.0.0.1:2", true}, {"10.0.0.1:3", true},
	} {
		release, ok := l.Acquire(address(step.from))
		if ok != step.ok {
			t.Errorf("connection %d: got %v, want %v", i, ok, step.ok)
		}
		release()
	}
	if !slices.Equal(refused, []Reason{Rate, Rate}) {
		t.Errorf("refused for %v", refused)
	}
}

// Nothing stays of connections that are closed.
func TestReleaseForgets(t *testing.T) {
	l := New(Limits{PerSource: 1, Total: 1})
	for range 3 {
		release, ok := l.Acquire(address("10.0.0.2:1"))
		if !ok {
			t.Fatal("refused")
		}
		release()
	}
	if len(l.sources) != 0 || l.total != 0 {
		t.Errorf("%v, %d", l.sources, l.total)
	}
}

func TestListenerResets(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(Limits{PerSource: 1}).Listen(plain)
	t.Cleanup(func() { _ = l.Close() })
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", plain.Addr().String())
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	dial()
	served := <-accepted
	if second := dial(); second == nil {
		t.Log("reset at once")
	} else if _, err := second.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("the second connection: %v, want it reset", err)
	}
	if err := served.Close(); err != nil {
		t.Fatal(err)
	}
	dial()
	<-accepted
}
