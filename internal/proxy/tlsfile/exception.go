package tlsfile

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Excepts reports whether a client is an exception of a listener: without TLS if plain, else with TLS and a server
// name.
func Excepts(spec *config.ListenerTLS, client net.Addr, plain bool, serverName string) bool {
	from, _ := netip.ParseAddrPort(client.String()) // other addresses are in no range
	address := from.Addr().Unmap()
	return slices.ContainsFunc(spec.Exceptions, func(e config.TLSException) bool {
		return e.Plain == plain && (len(e.Addresses) == 0 || config.InRanges(address, e.Addresses)) &&
			(len(e.ServerNames) == 0 || AsksFor(serverName, e.ServerNames))
	})
}

// AsksFor reports whether a server name is one of some names, of which *.domain is a suffix.
func AsksFor(name string, names []string) bool {
	return name != "" && slices.ContainsFunc(names, func(n string) bool {
		if suffix, is := strings.CutPrefix(n, "*"); is {
			return len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix)
		}
		return strings.EqualFold(name, n)
	})
}
