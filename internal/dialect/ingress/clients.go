package ingress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// The annotations with addresses of clients, as ingress-nginx documents them. whitelistRanges is the former name of
// allowedRanges.
const (
	allowedRanges   = foreignPrefix + "allowlist-source-range"
	whitelistRanges = foreignPrefix + "whitelist-source-range"
	deniedRanges    = foreignPrefix + "denylist-source-range"
)

// clientAnnotations are the annotations that clientRanges reads.
var clientAnnotations = []string{allowedRanges, whitelistRanges, deniedRanges}

// clientRanges returns the clients that the annotations allow; nil for all.
func clientRanges(annotations map[string]string) (*model.ClientRanges, error) {
	allowed, err := parseRanges(annotations, allowedRanges)
	if err != nil {
		return nil, err
	}
	whitelist, err := parseRanges(annotations, whitelistRanges)
	if err != nil {
		return nil, err
	}
	switch {
	case len(whitelist) == 0:
	case len(allowed) > 0 && !slices.Equal(allowed, whitelist):
		return nil, fmt.Errorf("annotations %s and %s differ; remove one", allowedRanges, whitelistRanges)
	default:
		allowed = whitelist
	}
	if slices.Contains(allowed, netip.PrefixFrom(netip.IPv4Unspecified(), 0)) &&
		slices.Contains(allowed, netip.PrefixFrom(netip.IPv6Unspecified(), 0)) {
		allowed = nil // as cert-manager annotates the Ingress of each HTTP-01 challenge
	}
	denied, err := parseRanges(annotations, deniedRanges)
	if err != nil || len(allowed)+len(denied) == 0 {
		return nil, err
	}
	return &model.ClientRanges{Allowed: allowed, Denied: denied}, nil
}

// parseRanges returns the ranges of an annotation, sorted: addresses and prefixes, separated by commas. An annotation
// with an empty value is none, as in ingress-nginx.
func parseRanges(annotations map[string]string, name string) ([]netip.Prefix, error) {
	if strings.TrimSpace(annotations[name]) == "" {
		return nil, nil
	}
	var out []netip.Prefix
	for text := range strings.SplitSeq(annotations[name], ",") {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || prefix.Addr().Zone() != "" || prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("annotation %s: %q is not a range of addresses such as 10.0.0.0/8", name, text)
		}
		out = append(out, prefix.Masked())
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out), nil
}
