package engine

import (
	"fmt"

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
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("sidecar.reservedRanges: %w", err)
	}
	return s, nil
}
