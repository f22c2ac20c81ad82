package capture

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Environment variables of FromEnv.
const (
	EnvEnabled      = "ANYMESH_CAPTURE_ENABLED"        // 1, or 0 to capture nothing
	EnvUID          = "ANYMESH_CAPTURE_UID"            // user ID of the proxy
	EnvGID          = "ANYMESH_CAPTURE_GID"            // group ID of the proxy
	EnvIngressPort  = "ANYMESH_CAPTURE_INBOUND_PORT"   // of the proxy
	EnvEgressPort   = "ANYMESH_CAPTURE_OUTBOUND_PORT"  // of the proxy
	EnvAppPorts     = "ANYMESH_CAPTURE_APP_PORTS"      // inbound, comma separated, or * for all; none
	EnvOpenPorts    = "ANYMESH_CAPTURE_OPEN_PORTS"     // those that are not captured though all are, comma separated; none
	EnvIgnoredIPs   = "ANYMESH_CAPTURE_EXCLUDED_IPS"   // addresses and CIDRs, comma separated; none
	EnvIncludedIPs  = "ANYMESH_CAPTURE_INCLUDED_IPS"   // the only ones that are captured, like those before; all
	EnvIgnoredPorts = "ANYMESH_CAPTURE_EXCLUDED_PORTS" // comma separated; none
	EnvDNSPort      = "ANYMESH_CAPTURE_DNS_PORT"       // of the agent's DNS server; without it, DNS is not captured
	EnvAppIPs       = "ANYMESH_CAPTURE_APP_IPS"        // where the application listens, in place of loopback addresses, comma separated; none
	EnvProxyPorts   = "ANYMESH_CAPTURE_PROXY_PORTS"    // of the proxy on loopback addresses, comma separated; none
	EnvIPv6         = "ANYMESH_CAPTURE_IPV6"           // 1, or 0 for IPv4 only; 1
)

// Config selects the traffic to capture. The zero value captures nothing.
type Config struct {
	Enabled                 bool
	UID, GID                *uint32 // of the proxy; nil means none
	IngressPort, EgressPort uint16
	AppPorts                []uint16       // inbound, sorted
	AllAppPorts             bool           // all inbound ports but OpenPorts, in place of AppPorts
	OpenPorts               []uint16       // inbound, sorted
	IgnoredPorts            []uint16       // outbound, sorted
	IgnoredAddresses        []netip.Prefix // outbound, sorted, none within another
	// IncludedAddresses are the only outbound destinations that are captured, sorted, none within another. Empty means
	// all. IgnoredAddresses within them are not captured.
	IncludedAddresses []netip.Prefix
	// AppAddresses are those of the application: connections of the proxy's user to loopback addresses go to the one of
	// the family, except for ProxyPorts.
	AppAddresses []netip.Prefix
	ProxyPorts   []uint16 // sorted
	IPv6         bool
	DNSPort      uint16         // 0 means that DNS is not captured
	Nameservers  []netip.Prefix // to which DNS questions go, sorted
}

// FromEnv reads the configuration from environment variables; lookup is os.LookupEnv. It joins all errors; each names
// its variable.
func FromEnv(lookup func(string) (string, bool)) (Config, error) {
	r := envReader{lookup: lookup}
	var c Config
	if c.Enabled = r.flag(EnvEnabled, false); !c.Enabled {
		return Config{}, errors.Join(r.errs...)
	}
	c.UID, c.GID = r.id(EnvUID), r.id(EnvGID)
	c.EgressPort = r.port(EnvEgressPort)
	if c.AllAppPorts = r.value(EnvAppPorts) == "*"; c.AllAppPorts {
		c.OpenPorts = r.ports(EnvOpenPorts)
	} else {
		c.AppPorts = r.ports(EnvAppPorts)
	}
	if c.AllAppPorts || len(c.AppPorts) > 0 || r.value(EnvIngressPort) != "" {
		c.IngressPort = r.port(EnvIngressPort)
	}
	c.IgnoredPorts = r.ports(EnvIgnoredPorts)
	c.IgnoredAddresses = r.prefixes(EnvIgnoredIPs)
	c.IncludedAddresses = r.prefixes(EnvIncludedIPs)
	c.AppAddresses, c.ProxyPorts = r.prefixes(EnvAppIPs), r.ports(EnvProxyPorts)
	c.IPv6 = r.flag(EnvIPv6, true)
	if r.value(EnvDNSPort) != "" {
		c.DNSPort = r.port(EnvDNSPort)
	}
	if c.UID == nil && c.GID == nil && len(r.errs) == 0 {
		r.addError(EnvUID, "%s or this variable is required: without them, the traffic of the proxy would be redirected to the proxy", EnvGID)
	}
	if err := errors.Join(r.errs...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// envReader collects errors, so that all of them are reported at once.
type envReader struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (r *envReader) addError(name, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
}

func (r *envReader) value(name string) string {
	text, _ := r.lookup(name)
	return strings.TrimSpace(text)
}

func (r *envReader) flag(name string, unset bool) bool {
	switch text := r.value(name); text {
	case "1":
		return true
	case "0":
		return false
	case "":
		return unset
	default:
		r.addError(name, "%q is neither 0 nor 1", text)
		return false
	}
}

func (r *envReader) id(name string) *uint32 {
	text := r.value(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 1<<32-1 { // reserved by the kernel: "no user"
		r.addError(name, "%q is not a number from 0 to 4294967294", text)
		return nil
	}
	id := uint32(n)
	return &id
}

func (r *envReader) port(name string) uint16 {
	text := r.value(name)
	port, err := parsePort(text)
	if err != nil {
		r.addError(name, "%v", err)
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

func (r *envReader) list(name string, each func(string) error) {
	text := r.value(name)
	if text == "" {
		return
	}
	for part := range strings.SplitSeq(text, ",") {
		if err := each(strings.TrimSpace(part)); err != nil {
			r.addError(name, "%v", err)
		}
	}
}

func (r *envReader) ports(name string) []uint16 {
	var ports []uint16
	r.list(name, func(text string) error {
		port, err := parsePort(text)
		ports = append(ports, port)
		return err
	})
	return unique(ports)
}

func (r *envReader) prefixes(name string) []netip.Prefix {
	var all []netip.Prefix
	r.list(name, func(text string) error {
		p, err := parsePrefix(text)
		all = append(all, p)
		return err
	})
	return removeNested(all)
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

// removeNested sorts prefixes and removes those within another: the kernel accepts no overlaps in a set.
func removeNested(all []netip.Prefix) []netip.Prefix {
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
