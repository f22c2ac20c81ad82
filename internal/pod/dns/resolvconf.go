package dns

import (
	"fmt"
	"net/netip"

	"github.com/miekg/dns"
)

const port = 53

// ReadConfig reads the nameservers and search domains of a resolv.conf(5). Like in client resolvers, nameservers that
// are not IP addresses are ignored; an error is returned if no nameserver is left.
func ReadConfig(path string) (upstreams []netip.AddrPort, search []string, err error) {
	config, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the DNS configuration: %w", err)
	}
	for _, server := range config.Servers {
		if address, err := netip.ParseAddr(server); err == nil {
			upstreams = append(upstreams, netip.AddrPortFrom(address, port))
		}
	}
	if len(upstreams) == 0 {
		return nil, nil, fmt.Errorf("%s has no nameserver with an IP address", path)
	}
	return upstreams, config.Search, nil
}
