package capture

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"
)

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
			pod.must(func() error {
				l, err := net.ListenPacket("udp", listen)
				if err != nil {
					return err
				}
				t.Cleanup(func() { l.Close() })
				go func() {
					b := make([]byte, 100)
					if _, from, err := l.ReadFrom(b); err == nil {
						_, _ = l.WriteTo([]byte("agent"), from) // the client reports a missing response
					}
				}()
				return nil
			})
			pod.must(func() error {
				conn, err := net.Dial("udp", nameserver)
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
				if err == nil && string(b[:n]) != "agent" {
					err = fmt.Errorf("answer %q", b[:n])
				}
				return err
			})
		})
	}
}
