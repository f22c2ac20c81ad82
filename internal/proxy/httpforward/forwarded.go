package httpforward

import (
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
	addresses = append(addresses, metadata.At(c.base, metadata.Path{"IP", "src_addr"}).Text)
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
