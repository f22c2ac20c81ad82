package tlsfile

import (
	"net"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
)

func TestExceptions(t *testing.T) {
	spec := &config.ListenerTLS{Exceptions: []config.TLSException{
		{Plain: true, Addresses: []string{"10.0.0.0/24", "10.1.0.1"}},
		{ServerNames: []string{"*.shop.example"}, Addresses: []string{"10.2.0.0/16"}},
	}}
	for _, c := range []struct {
		client string
		plain  bool
		name   string
		want   bool
	}{
		{"10.0.0.9", true, "", true}, {"::ffff:10.1.0.1", true, "", true}, {"10.1.0.2", true, "", false},
		{"10.0.0.9", false, "a.shop.example", false}, {"10.2.0.1", false, "a.Shop.example", true},
		{"10.2.0.1", false, ".shop.example", false}, {"10.2.0.1", false, "", false}, {"10.2.0.1", true, "", false},
	} {
		from := &net.TCPAddr{IP: net.ParseIP(c.client), Port: 1}
		if got := Excepts(spec, from, c.plain, c.name); got != c.want {
			t.Errorf("%+v is %v", c, got)
		}
	}
}
