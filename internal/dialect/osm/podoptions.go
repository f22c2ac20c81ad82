package osm

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// PodOptions captures all connections, except for those that annotations exclude.
func (Dialect) PodOptions(pod *corev1.Pod, _ model.Workload) (dialect.PodOptions, error) {
	o := dialect.PodOptions{
		AllInbound: true, IPv6: true, PortExclusionsBy: prefix + "outbound-port-exclusion-list",
	}
	if value, is := pod.Labels[injectionAnnotation]; is {
		o.Warnings = append(o.Warnings, fmt.Sprintf(
			"label %s: %s has no effect: only the annotation of this name has", injectionAnnotation, value))
	}
	for _, a := range []struct {
		name  string
		parse func(string) error
	}{
		{"inbound-port-exclusion-list", addPorts(&o.InboundPortExclusions)},
		{"outbound-port-exclusion-list", addPorts(&o.OutboundPortExclusions)},
		{"outbound-ip-range-exclusion-list", addRanges(&o.OutboundIPExclusions)},
		{"outbound-ip-range-inclusion-list", addRanges(&o.OutboundIPInclusions)},
	} {
		value, set := pod.Annotations[prefix+a.name]
		if !set {
			continue
		}
		if err := a.parse(value); err != nil {
			return dialect.PodOptions{}, fmt.Errorf("annotation %s%s: %w", prefix, a.name, err)
		}
	}
	var warnings []string
	var err error
	o.Resources, warnings, err = sidecarResources(pod.Annotations)
	o.Warnings = append(o.Warnings, warnings...)
	return o, err
}

// addPorts parses a list of ports.
func addPorts(into *[]int) func(string) error {
	return func(list string) error {
		for text := range strings.SplitSeq(list, ",") {
			port, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || port < 1 || port > 65535 {
				return fmt.Errorf("%q is not a port from 1 to 65535", text)
			}
			if !slices.Contains(*into, port) {
				*into = append(*into, port)
			}
		}
		return nil
	}
}

// addRanges parses a list of CIDRs.
func addRanges(into *[]string) func(string) error {
	return func(list string) error {
		for text := range strings.SplitSeq(list, ",") {
			p, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("%q is not a CIDR", text)
			}
			if s := p.Masked().String(); !slices.Contains(*into, s) {
				*into = append(*into, s)
			}
		}
		return nil
	}
}
