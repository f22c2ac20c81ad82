package appmesh

import (
	"net/netip"
	"slices"

	"anymesh.dev/anymesh/internal/dialect"
)

// bypasses says which annotations exclude all connections of an IP family from capture.
func bypasses(o dialect.PodOptions) []string {
	var out []string
	for _, family := range []struct{ name, all string }{{"IPv4", "0.0.0.0/0"}, {"IPv6", "::/0"}} {
		if covered(netip.MustParsePrefix(family.all), prefixesOf(o.OutboundIPExclusions)) {
			out = append(out, "annotation "+prefix+"egressIgnoredIPs contains all "+family.name+
				" addresses: no outbound connection to them is captured")
		}
	}
	if !o.IPv6 {
		out = append(out, "annotation "+prefix+"ipv6 is disabled: no connection over IPv6 is captured")
	}
	return out
}

// prefixesOf returns addresses and ranges as ranges.
func prefixesOf(texts []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		} else if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}

// covered reports whether ranges together contain all addresses of a range.
func covered(all netip.Prefix, by []netip.Prefix) bool {
	by = slices.DeleteFunc(slices.Clone(by), func(p netip.Prefix) bool { return !p.Overlaps(all) })
	if slices.ContainsFunc(by, func(p netip.Prefix) bool { return p.Bits() <= all.Bits() }) {
		return true
	}
	if len(by) == 0 {
		return false
	}
	lower := netip.PrefixFrom(all.Addr(), all.Bits()+1)
	bytes := all.Addr().AsSlice()
	bytes[all.Bits()/8] |= 0x80 >> (all.Bits() % 8)
	middle, _ := netip.AddrFromSlice(bytes) // the length is that of an address
	return covered(lower, by) && covered(netip.PrefixFrom(middle, all.Bits()+1), by)
}
