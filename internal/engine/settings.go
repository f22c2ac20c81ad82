package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"anymesh.dev/anymesh/internal/store"
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
	if n := c.Sidecar.MaxDataPlaneConnections; n < 0 {
		return s, fmt.Errorf("sidecar.maxDataPlaneConnections is %d; set 0 or more", n)
	}
	if text := c.Sidecar.ConfigResyncInterval; text != "" {
		if interval, err := time.ParseDuration(text); err != nil || interval < 0 {
			return s, fmt.Errorf("sidecar.configResyncInterval is %q; set a duration such as 90s", text)
		}
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("sidecar.reservedRanges: %w", err)
	}
	if !c.GetIPv6() {
		isIPv6 := func(r netip.Prefix) bool { return r.Addr().Is6() }
		if len(s.ReservedRanges) == 0 {
			s.ReservedRanges = store.DefaultReservedRanges()
		}
		s.ReservedRanges = slices.DeleteFunc(slices.Clone(s.ReservedRanges), isIPv6)
		if len(s.ReservedRanges) == 0 {
			return s, errors.New("sidecar.reservedRanges has only an IPv6 range, but sidecars do not listen on IPv6; add an IPv4 range")
		}
	}
	return s, nil
}
