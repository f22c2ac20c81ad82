package capture

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"
)

// respondUDP responds to the first datagram to an address.
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
			if _, from, err := l.ReadFrom(b); err == nil {
				_, _ = l.WriteTo([]byte(text), from) // the client reports a missing response
			}
		}()
		return nil
	})
}

// expectUDP sends a datagram to an address and expects a response from this address.
func (s *netns) expectUDP(address, want string) {
	s.t.Helper()
	s.must(func() error {
		conn, err := net.Dial("udp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		b := make([]byte, 100)
		n, err := conn.Read(b)
		if err == nil && string(b[:n]) != want {
			err = fmt.Errorf("response %q, want %q", b[:n], want)
		}
		return err
	})
}

// UDP to port 53 of a nameserver goes to the agent, and the answer comes from the nameserver's address.
func TestDNSIsCaptured(t *testing.T) {
	pod, _ := newPodNetns(t)
	c, err := FromEnv(env(map[string]string{EnvDNSPort: "15053"}))
	if err != nil {
		t.Fatal(err)
	}
	c.Nameservers = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/32"), netip.MustParsePrefix("fd09::1/128")}
	pod.must(func() error { return Apply(c.Rules()) })
	for listen, nameserver := range map[string]string{"127.0.0.1:15053": "10.9.0.1:53", "[::1]:15053": "[fd09::1]:53"} {
		t.Run(nameserver, func(t *testing.T) {
			pod.respondUDP(listen, "agent")
			pod.expectUDP(nameserver, "agent")
		})
	}
}
