package engine

import (
	"fmt"
	"net/netip"
	"slices"

	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Settings are the settings of the mesh. The zero value has the defaults.
type Settings = store.Settings

// SettingsOf returns the settings in the mesh-wide configuration. Errors name the field.
func SettingsOf(c *sidecar.MeshConfig) (Settings, error) {
	s := Settings{DNS: c.Sidecar.DNS, ReservedRanges: c.Sidecar.ReservedRanges}
	if s.DNS != "" && !s.DNS.Valid() {
		return s, fmt.Errorf("sidecar.dns is %q; set %s, %s or %s", s.DNS, model.DNSUnresolved, model.DNSAll, model.DNSOff)
	}
	if b := c.Sidecar.Bypass; b != "" && b != sidecar.BypassWarn && b != sidecar.BypassRefuse {
		return s, fmt.Errorf("sidecar.bypass is %q; set %s or %s", b, sidecar.BypassWarn, sidecar.BypassRefuse)
	}
	switch v6 := c.Sidecar.IPv6; v6 {
	case "", sidecar.IPv6Auto, sidecar.IPv6Enabled, sidecar.IPv6Disabled:
	default:
		return s, fmt.Errorf("sidecar.ipv6 is %q; set %s, %s or %s", v6, sidecar.IPv6Auto, sidecar.IPv6Enabled, sidecar.IPv6Disabled)
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("sidecar.reservedRanges: %w", err)
	}
	if !c.GetIPv6() {
		s.ReservedRanges = ipv4Ranges(s.ReservedRanges)
	}
	return s, nil
}

// ipv4Ranges returns the IPv4 range of some ranges, or else the default: sidecars refuse connections over IPv6.
func ipv4Ranges(ranges []netip.Prefix) []netip.Prefix {
	for _, r := range append(slices.Clone(ranges), store.DefaultReservedRanges()...) {
		if r.Addr().Is4() {
			return []netip.Prefix{r}
		}
	}
	return nil
}
