package store

import (
	"errors"
	"fmt"
	"net/netip"

	"anymesh.dev/anymesh/model"
)

// Settings are the settings of the mesh that do not depend on dialects. The zero value has the defaults.
type Settings struct {
	// DNS is the mode of pods that do not have one yet: pods of files, and of workloads without pods.
	DNS model.DNSMode
	// ReservedRanges are the ranges of reserved addresses, at most one of each family. See DefaultReservedRanges.
	ReservedRanges []netip.Prefix
}

// DefaultReservedRanges returns the default of Settings.ReservedRanges: a part of the reserved IPv4 block (RFC 1112,
// section 4) and a unique local IPv6 range (RFC 4193).
func DefaultReservedRanges() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("240.240.0.0/16"), netip.MustParsePrefix("fd6d:6573:6800::/112")}
}

// Validate returns an error if a range cannot be used.
func (s Settings) Validate() error {
	var errs []error
	for i, p := range s.ReservedRanges {
		a := p.Addr()
		switch {
		case !p.IsValid() || a.Is4In6() || p != p.Masked():
			errs = append(errs, fmt.Errorf("%s is not the first address of a range with its length", p))
		case a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast():
			errs = append(errs, fmt.Errorf("%s is not a range of unicast addresses", p))
		case a.BitLen()-p.Bits() < minRangeBits:
			errs = append(errs, fmt.Errorf("%s has fewer than %d addresses", p, 1<<minRangeBits))
		}
		for _, other := range s.ReservedRanges[:i] {
			if other.Addr().Is4() == a.Is4() {
				errs = append(errs, fmt.Errorf("%s and %s have the same family", other, p))
			}
		}
	}
	return errors.Join(errs...)
}

// minRangeBits is the smallest size of a range, as the number of bits that differ.
const minRangeBits = 4
