package capture

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Environment variables that FromEnv reads, with App Mesh's names and meaning.
const (
	EnvEnabled      = "ANYMESH_CAPTURE_ENABLED"        // 1, or 0 to capture nothing
	EnvUID          = "ANYMESH_CAPTURE_UID"            // the proxy's user
	EnvGID          = "ANYMESH_CAPTURE_GID"            // the proxy's group
	EnvIngressPort  = "ANYMESH_CAPTURE_INBOUND_PORT"   // of the proxy
	EnvEgressPort   = "ANYMESH_CAPTURE_OUTBOUND_PORT"  // of the proxy
	EnvAppPorts     = "ANYMESH_CAPTURE_APP_PORTS"      // inbound, comma separated; none
	EnvIgnoredIPs   = "ANYMESH_CAPTURE_EXCLUDED_IPS"   // addresses and CIDRs, comma separated; none
	EnvIgnoredPorts = "ANYMESH_CAPTURE_EXCLUDED_PORTS" // comma separated; 22 in any case
	EnvIPv6         = "ANYMESH_CAPTURE_IPV6"           // 1, or 0 for IPv4 only; 1
)

// sshPort is never captured; App Mesh adds it to every list.
const sshPort = 22

// Config says what to capture. The zero value captures nothing.
type Config struct {
	Enabled                 bool
	UID, GID                *uint32 // of the proxy; nil for none
	IngressPort, EgressPort uint16
	AppPorts                []uint16       // inbound, sorted
	IgnoredPorts            []uint16       // outbound, sorted
	IgnoredAddresses        []netip.Prefix // outbound, sorted, none within another
	IPv6                    bool
}

// FromEnv reads the configuration; lookup is os.LookupEnv. It collects all
// errors, each of which names its variable.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	r := reader{lookup: lookup}
	var c Config
	if c.Enabled = r.flag(EnvEnabled, false); !c.Enabled {
		return Config{}, errors.Join(r.errs...)
	}
	c.UID, c.GID = r.id(EnvUID), r.id(EnvGID)
	c.EgressPort = r.port(EnvEgressPort)
	c.AppPorts = r.ports(EnvAppPorts)
	if len(c.AppPorts) > 0 {
		c.IngressPort = r.port(EnvIngressPort)
	}
	c.IgnoredPorts = unique(append(r.ports(EnvIgnoredPorts), sshPort))
	c.IgnoredAddresses = r.prefixes(EnvIgnoredIPs)
	c.IPv6 = r.flag(EnvIPv6, true)
	if c.UID == nil && c.GID == nil && len(r.errs) == 0 {
		r.fail(EnvUID, "it and %s are both empty: the proxy's own traffic would be sent back to it", EnvGID)
	}
	if err := errors.Join(r.errs...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// reader collects errors, so that one run shows all that is wrong.
type reader struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (r *reader) fail(name, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
}

func (r *reader) text(name string) string {
	text, _ := r.lookup(name)
	return strings.TrimSpace(text)
}

func (r *reader) flag(name string, unset bool) bool {
	switch text := r.text(name); text {
	case "1":
		return true
	case "0":
		return false
	case "":
		return unset
	default:
		r.fail(name, "%q is neither 0 nor 1", text)
		return false
	}
}

func (r *reader) id(name string) *uint32 {
	text := r.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 1<<32-1 { // the kernel's "no user"
		r.fail(name, "%q is not a number from 0 to 4294967294", text)
		return nil
	}
	id := uint32(n)
	return &id
}

func (r *reader) port(name string) uint16 {
	text := r.text(name)
	port, err := parsePort(text)
	if err != nil {
		r.fail(name, "%v", err)
	}
	return port
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", text)
	}
	return uint16(n), nil
}

func (r *reader) list(name string, each func(string) error) {
	text := r.text(name)
	if text == "" {
		return
	}
	for part := range strings.SplitSeq(text, ",") {
		if err := each(strings.TrimSpace(part)); err != nil {
			r.fail(name, "%v", err)
		}
	}
}

func (r *reader) ports(name string) []uint16 {
	var ports []uint16
	r.list(name, func(text string) error {
		port, err := parsePort(text)
		ports = append(ports, port)
		return err
	})
	return unique(ports)
}

func (r *reader) prefixes(name string) []netip.Prefix {
	var all []netip.Prefix
	r.list(name, func(text string) error {
		p, err := parsePrefix(text)
		all = append(all, p)
		return err
	})
	return outermost(all)
}

func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a CIDR", text)
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a CIDR", text)
	}
	return p.Masked(), nil
}

func unique(ports []uint16) []uint16 {
	slices.Sort(ports)
	return slices.Compact(ports)
}

// outermost sorts prefixes and drops those within another: the kernel accepts
// no overlaps in a set.
func outermost(all []netip.Prefix) []netip.Prefix {
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var out []netip.Prefix
	for _, p := range all {
		if n := len(out); n == 0 || !out[n-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	return out
}
