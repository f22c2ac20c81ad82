package observe

import (
	"fmt"
	"net/netip"

	"anymesh.dev/anymesh/model"
)

// serveAddresses starts servers for a destination with fixed addresses.
func (p *pod) serveAddresses(ix *model.Index, d model.Destination) error {
	for _, a := range d.Discovery.Addresses {
		address, err := netip.ParseAddr(a.Host)
		if err != nil {
			return fmt.Errorf("%s: a case needs IP addresses: %w", d.Name, err)
		}
		if err := p.serveDestination(ix, netip.AddrPortFrom(address, d.Port), d.Name, d); err != nil {
			return err
		}
	}
	return nil
}
