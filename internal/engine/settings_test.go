package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"anymesh.dev/anymesh/sidecar"
)

// If sidecars do not listen on IPv6, no name has a reserved IPv6 address.
func TestReservedRangesOfFamilies(t *testing.T) {
	own4, own6 := netip.MustParsePrefix("241.0.0.0/16"), netip.MustParsePrefix("fd00::/112")
	for _, c := range []struct {
		ipv6   sidecar.IPv6Mode
		ranges []netip.Prefix
		want   string
	}{
		{sidecar.IPv6Enabled, nil, "[]"}, // the default, both families
		{sidecar.IPv6Enabled, []netip.Prefix{own6, own4}, "[fd00::/112 241.0.0.0/16]"},
		{sidecar.IPv6Disabled, nil, "[240.240.0.0/16]"},
		{sidecar.IPv6Disabled, []netip.Prefix{own6, own4}, "[241.0.0.0/16]"},
	} {
		s, err := SettingsOf(&sidecar.MeshConfig{Sidecar: sidecar.Settings{IPv6: c.ipv6, ReservedRanges: c.ranges}})
		if got := fmt.Sprint(s.ReservedRanges); err != nil || got != c.want {
			t.Errorf("%s, %v: got %s, %v; want %s", c.ipv6, c.ranges, got, err, c.want)
		}
	}
	_, err := SettingsOf(&sidecar.MeshConfig{Sidecar: sidecar.Settings{
		IPv6: sidecar.IPv6Disabled, ReservedRanges: []netip.Prefix{own6},
	}})
	if err == nil || !strings.Contains(err.Error(), "add an IPv4 range") {
		t.Errorf("only an IPv6 range: got error %v", err)
	}
}
