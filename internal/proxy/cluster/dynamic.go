package cluster

import (
	"errors"
	"net"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

var (
	addressPath    = metadata.Path{"IP", "dst_addr"}
	portPath       = metadata.Path{"TCP", "dst_port"}
	serverNamePath = metadata.Path{"TLS", "sni"}
)

// dynamic returns the endpoint that a session names. No other session uses it.
func (c *Cluster) dynamic(d metadata.Document) (*Endpoint, error) {
	host, port := d.Lookup(addressPath).Text, int(d.Lookup(portPath).Num)
	if c.Spec.To == config.ToServerName {
		host = d.Lookup(serverNamePath).Text
		if host != "" {
			host += "." // no search domain
		}
	}
	if c.Spec.Port != 0 {
		port = c.Spec.Port
	}
	if host == "" || port == 0 {
		return nil, errors.New("the session has no original destination and no server name")
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	return &Endpoint{Name: address, Address: address, Weight: 1, closed: true}, nil
}
