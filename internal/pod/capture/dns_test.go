package capture

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/test/poll"
)

// respondUDP responds to the datagrams to an address.
func (s *netns) respondUDP(address, text string) {
	s.t.Helper()
	s.must(func() error {
		l, err := net.ListenPacket("udp", address)
		if err != nil {
			return err
		}
		s.t.Cleanup(func() { l.Close() })
		go func() {
			b := make([]byte, 100)
			for {
				_, from, err := l.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = l.WriteTo([]byte(text), from) // the client reports a missing response
			}
		}()
		return nil
	})
}

// expectUDP sends datagrams to an address, since the first may be lost, and expects a response from this address.
func (s *netns) expectUDP(address, want string) {
	s.t.Helper()
	s.must(func() error {
		conn, err := net.Dial("udp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		b := make([]byte, 100)
		n := 0
		for range 20 {
			if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
				return err
			}
			if _, err := conn.Write([]byte("?")); err != nil {
				return err
			}
			if n, err = conn.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
		}
		if err == nil && string(b[:n]) != want {
			err = fmt.Errorf("response %q, want %q", b[:n], want)
		}
		return err
	})
}

// applyDNS captures the questions to 10.9.0.1 and fd09::1.
func (s *netns) applyDNS() {
	s.t.Helper()
	c, err := FromEnv(env(map[string]string{EnvDNSPort: "15053"}))
	if err != nil {
		s.t.Fatal(err)
	}
	c.Nameservers = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/32"), netip.MustParsePrefix("fd09::1/128")}
	s.must(func() error { return Apply(c.Rules()) })
}

// UDP to port 53 of a nameserver goes to the agent, and the answer comes from the nameserver's address.
func TestDNSIsCaptured(t *testing.T) {
	pod, _ := newPodNetns(t)
	pod.applyDNS()
	for listen, nameserver := range map[string]string{"127.0.0.1:15053": "10.9.0.1:53", "[::1]:15053": "[fd09::1]:53"} {
		t.Run(nameserver, func(t *testing.T) {
			pod.respondUDP(listen, "agent")
			pod.expectUDP(nameserver, "agent")
		})
	}
}

// expectRepeatedUDP sends a datagram to an address without a listener, and repeats it when listen has been called. It
// expects a response to the second one, and no error before.
func (s *netns) expectRepeatedUDP(address, want string, listen func()) {
	s.t.Helper()
	var conn net.Conn
	s.must(func() (err error) {
		conn, err = net.Dial("udp", address)
		return err
	})
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	exchange := func() error {
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		return socketError(conn.(*net.UDPConn))
	}
	for range 2 { // the second call reports an error that arrived after the first one
		if err := exchange(); err != nil {
			s.t.Errorf("without a listener: %v", err)
		}
	}
	listen()
	if err := exchange(); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := conn.Read(b); err != nil || string(b[:n]) != want {
		s.t.Errorf("response %q, error %v; want %q", b[:n], err, want)
	}
}

// socketError returns the pending error of a socket, which an ICMP message sets.
func socketError(conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var errno int
	var inner error
	if err := raw.Control(func(fd uintptr) {
		errno, inner = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	}); err != nil {
		return err
	}
	if inner == nil && errno != 0 {
		inner = syscall.Errno(errno)
	}
	return inner
}

// expectLateConnection connects to an address without a listener, calls listen when the connection is refused or the
// kernel waits for its response, and expects a response on this connection.
func (s *netns) expectLateConnection(address, want string, listen func()) {
	s.t.Helper()
	answer := make(chan string, 1)
	go func() { answer <- s.dial(address) }()
	poll.Until(s.t, "the kernel has sent SYN", func() (sent bool) {
		s.must(func() (err error) {
			sent, err = isConnecting()
			return err
		})
		return sent || len(answer) > 0
	})
	listen()
	if got := <-answer; got != want {
		s.t.Errorf("%q, want %q", got, want)
	}
}

// isConnecting reports whether a connection of the namespace is in state SYN-SENT.
func isConnecting() (bool, error) {
	for _, file := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 3 && fields[3] == "02" {
				return true, nil
			}
		}
	}
	return false, nil
}

// A question that is sent while the agent restarts gets no error, so that the application repeats it and the agent
// answers it. A connection that is opened meanwhile is accepted later.
func TestQuestionsWaitForTheAgent(t *testing.T) {
	pod, _ := newPodNetns(t)
	pod.applyDNS()
	for listen, nameserver := range map[string]string{"127.0.0.1:15053": "10.9.0.1:53", "[::1]:15053": "[fd09::1]:53"} {
		t.Run("UDP to "+nameserver, func(t *testing.T) {
			pod.expectRepeatedUDP(nameserver, "agent", func() { pod.respondUDP(listen, "agent") })
		})
		t.Run("TCP to "+nameserver, func(t *testing.T) {
			pod.expectLateConnection(nameserver, "agent", func() {
				pod.serve("tcp", listen, func(*net.TCPConn) string { return "agent" })
			})
		})
	}
}

// Only refusals by the agent's port are dropped: applications get the others.
func TestOtherPortsRefuse(t *testing.T) {
	pod, _ := newPodNetns(t)
	pod.applyDNS()
	for _, address := range []string{"127.0.0.1:15054", "[::1]:15054"} {
		if got := pod.dial(address); !strings.Contains(got, "refused") {
			t.Errorf("TCP to %s: %s", address, got)
		}
		pod.must(func() error {
			conn, err := net.Dial("udp", address)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("?")); err != nil {
				return err
			}
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				return err
			}
			if _, err = conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("UDP to %s: %v", address, err)
			}
			return nil
		})
	}
}
