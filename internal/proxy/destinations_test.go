package proxy

import (
	"crypto/tls"
	"net"
	"net/netip"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Captured connections are found by address, by the smallest range, by server name, by port, and by nothing, in this
// order.
func TestDestinations(t *testing.T) {
	all := map[string]*taker{}
	var takers []*taker
	for name, c := range map[string]config.Captured{
		"exact":  {Port: 443, Addresses: []string{"10.0.0.1"}},
		"small":  {Port: 443, Addresses: []string{"10.0.0.0/24"}},
		"large":  {Port: 443, Addresses: []string{"10.0.0.0/8"}},
		"names":  {Port: 443, ServerNames: []string{"shop.example", "*.shop.example"}},
		"port":   {Port: 443},
		"others": {},
	} {
		all[name] = &taker{captured: &c}
		takers = append(takers, all[name])
	}
	d := destinationsOf(takers)
	for _, one := range []struct{ to, name, want string }{
		{"10.0.0.1:443", "", "exact"}, {"10.0.0.2:443", "shop.example", "small"}, {"10.1.0.1:443", "", "large"},
		{"11.0.0.1:443", "SHOP.example", "names"}, {"11.0.0.1:443", "a.shop.example", "names"},
		{"11.0.0.1:443", "other.example", "port"}, {"11.0.0.1:443", "-", "port"}, {"10.0.0.1:80", "shop.example", "others"},
	} {
		client, server := connected(t)
		if one.name == "-" {
			if _, err := client.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
				t.Fatal(err)
			}
		} else {
			go func() {
				_ = tls.Client(client, &tls.Config{ServerName: one.name, InsecureSkipVerify: true}).Handshake() // nobody answers
			}()
		}
		taker, conn := d.find(server, netip.MustParseAddrPort(one.to))
		if taker != all[one.want] {
			t.Errorf("%s with %q does not go to %s", one.to, one.name, one.want)
		}
		first := make([]byte, 1)
		if _, err := conn.Read(first); err != nil || (one.name == "-") != (first[0] == 'G') {
			t.Errorf("%s with %q: the first byte is %d, error %v", one.to, one.name, first[0], err)
		}
	}
}

// connected returns both ends of a connection.
func connected(t *testing.T) (client net.Conn, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), accepted.Close() })
	return client, accepted.(*net.TCPConn)
}
