package dns

import (
	"net"
	"net/netip"
	"testing"

	"github.com/miekg/dns"
)

// echoing is a nameserver that costs little: it returns each question as its reply.
func echoing(b *testing.B) netip.AddrPort {
	b.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	b.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		buffer := make([]byte, maxMessageSize)
		for {
			n, client, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			buffer[2] |= bitResponse
			_, _ = conn.WriteToUDPAddrPort(buffer[:n], client)
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

// BenchmarkQuestion measures a question over UDP, with the client and the nameserver, one after the other.
func BenchmarkQuestion(b *testing.B) {
	s := start(b, testConfig(echoing(b)))
	for _, test := range []struct{ title, name string }{
		{"answered", "color.apps.pvt.local"},
		{"answered with search domain", "color.apps.pvt.local.ns.svc.cluster.local"},
		{"forwarded", "example.com"},
	} {
		b.Run(test.title, func(b *testing.B) {
			msg, err := newQuestion(test.name, dns.TypeA).Pack()
			if err != nil {
				b.Fatal(err)
			}
			conn := connect(b, s, "udp")
			defer conn.Close()
			buffer := make([]byte, maxMessageSize)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Conn.Write(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := conn.Conn.Read(buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHandle measures the decision about a question, and its answer, without I/O.
func BenchmarkHandle(b *testing.B) {
	s, err := New(testConfig())
	if err != nil {
		b.Fatal(err)
	}
	s.SetNames(names)
	for _, test := range []struct {
		title, name string
		qtype       uint16
	}{
		{"answered", "color.apps.pvt.local", dns.TypeA},
		{"no address of the family", "old.apps.pvt.local", dns.TypeAAAA},
		{"forwarded", "example.com", dns.TypeA},
	} {
		b.Run(test.title, func(b *testing.B) {
			m := newQuestion(test.name, test.qtype)
			m.SetEdns0(1232, false)
			msg, err := m.Pack()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				var buffer [maxNameSize]byte
				s.handle(msg, overUDP, &buffer)
			}
		})
	}
}
