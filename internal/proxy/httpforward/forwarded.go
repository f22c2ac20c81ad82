package httpforward

import (
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

const (
	forwardedFor   = "x-forwarded-for"
	forwardedProto = "x-forwarded-proto"
)

// addForwarded appends the address of the client to the addresses that it sent, and tells the scheme that it uses.
func (c *conn) addForwarded() {
	if c.s.Forwarded == "" {
		return
	}
	var addresses []string
	told := ""
	c.request.Fields = slices.DeleteFunc(c.request.Fields, func(f http1.Field) bool {
		switch {
		case strings.EqualFold(text(f.Name), forwardedFor):
			addresses = append(addresses, string(f.Value))
		case strings.EqualFold(text(f.Name), forwardedProto):
			told = string(f.Value)
		default:
			return false
		}
		return true
	})
	peer := metadata.At(c.base, metadata.Path{"IP", "src_addr"}).Text
	c.origin = originOf(addresses, peer, c.s.TrustedHops)
	addresses = append(addresses, peer)
	if told == "" || c.s.Forwarded != "trust" {
		told = "http"
		if c.base["TLS"] != nil {
			told = "https"
		}
	}
	c.request.Fields = append(c.request.Fields,
		http1.Field{Name: []byte(forwardedFor), Value: []byte(strings.Join(addresses, ","))},
		http1.Field{Name: []byte(forwardedProto), Value: []byte(told)},
	)
}

// originOf returns the address of the client behind a number of proxies. It is that of the connection if the proxies
// have not told it.
func originOf(told []string, peer string, hops int) string {
	if hops == 0 {
		return peer
	}
	all := strings.Split(strings.Join(told, ","), ",")
	if at := len(all) - hops; at >= 0 {
		if address, err := netip.ParseAddr(strings.TrimSpace(all[at])); err == nil {
			return address.String()
		}
	}
	return peer
}
