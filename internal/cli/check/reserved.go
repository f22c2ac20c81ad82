package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/store"
)

// mostOverlaps limits the objects that the result of a check names for each range.
const mostOverlaps = 3

// usage is a range of addresses that an object of the cluster uses. A single address has the length of its family.
type usage struct {
	prefix netip.Prefix
	// object and field name the object and the field that has the range.
	object, field string
}

func (u usage) String() string {
	text := u.prefix.String()
	if u.prefix.IsSingleIP() {
		text = u.prefix.Addr().String()
	}
	return fmt.Sprintf("%s (%s %s)", u.object, u.field, text)
}

// overlap is a range that has addresses of another.
type overlap struct {
	reserved netip.Prefix
	used     usage
}

// overlaps returns the uses of addresses of reserved ranges, in the order of the ranges, the largest use first.
func overlaps(ranges []netip.Prefix, used []usage) []overlap {
	var out []overlap
	for _, reserved := range ranges {
		at := len(out)
		for _, u := range used {
			if reserved.Overlaps(u.prefix) {
				out = append(out, overlap{reserved, u})
			}
		}
		slices.SortStableFunc(out[at:], func(a, b overlap) int {
			return cmp.Compare(a.used.prefix.Bits(), b.used.prefix.Bits())
		})
	}
	return out
}

// overlapError returns an error that names the objects of some overlaps, or nil if there are none.
func overlapError(all []overlap) error {
	var texts []string
	for len(all) > 0 {
		reserved, n := all[0].reserved, 0
		var objects []string
		for ; n < len(all) && all[n].reserved == reserved; n++ {
			if n < mostOverlaps {
				objects = append(objects, all[n].used.String())
			}
		}
		if n > mostOverlaps {
			objects = append(objects, fmt.Sprintf("and %d more", n-mostOverlaps))
		}
		texts = append(texts, fmt.Sprintf("%s overlaps %s", reserved, strings.Join(objects, ", ")))
		all = all[n:]
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New("osm.reservedRanges: " + strings.Join(texts, "; "))
}

// reservedRanges checks the ranges of the control plane, or the default ranges if it is not installed.
func reservedRanges(ctx context.Context, c *Cluster) (string, error) {
	settings, err := c.Settings(ctx)
	if err != nil {
		return "", err
	}
	ranges := settings.ReservedRanges
	if len(ranges) == 0 {
		ranges = store.DefaultReservedRanges()
	}
	var used []usage
	var unknown []string
	for _, list := range []client.ObjectList{
		&networkingv1.ServiceCIDRList{}, &corev1.NodeList{}, &corev1.ServiceList{}, &corev1.PodList{},
	} {
		err := c.Client.List(ctx, list)
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err): // the cluster does not serve ServiceCIDRs
		case apierrors.IsForbidden(err):
			unknown = append(unknown, kindsOf(list))
		case err != nil:
			return "", fmt.Errorf("listing %s: %w", kindsOf(list), err)
		}
		used = append(used, usagesOf(list)...)
	}
	if err := overlapError(overlaps(ranges, used)); err != nil {
		return "", err
	}
	texts := make([]string, len(ranges))
	for i, p := range ranges {
		texts[i] = p.String()
	}
	if len(unknown) > 0 {
		return "", warn("osm.reservedRanges: %s cannot be compared with the addresses of %s: missing permission to list them",
			strings.Join(texts, " and "), strings.Join(unknown, ", "))
	}
	return strings.Join(texts, ", "), nil
}

// kindsOf returns the plural of the kind of a list.
func kindsOf(list client.ObjectList) string {
	switch list.(type) {
	case *networkingv1.ServiceCIDRList:
		return "ServiceCIDRs"
	case *corev1.NodeList:
		return "Nodes"
	case *corev1.ServiceList:
		return "Services"
	}
	return "Pods"
}

// usagesOf returns the addresses of the objects of a list. The API server sets the plural of each field with addresses.
func usagesOf(list client.ObjectList) []usage {
	var out []usage
	add := func(object, field string, texts ...string) {
		for _, text := range texts {
			if p, ok := prefixOf(text); ok {
				out = append(out, usage{p, object, field})
			}
		}
	}
	switch l := list.(type) {
	case *networkingv1.ServiceCIDRList:
		for _, o := range l.Items {
			add("ServiceCIDR "+o.Name, "spec.cidrs", o.Spec.CIDRs...)
		}
	case *corev1.NodeList:
		for _, o := range l.Items {
			add("Node "+o.Name, "spec.podCIDRs", o.Spec.PodCIDRs...)
			for _, a := range o.Status.Addresses {
				add("Node "+o.Name, "status.addresses", a.Address)
			}
		}
	case *corev1.ServiceList:
		for _, o := range l.Items {
			name := "Service " + o.Namespace + "/" + o.Name
			add(name, "spec.clusterIPs", o.Spec.ClusterIPs...)
			add(name, "spec.externalIPs", o.Spec.ExternalIPs...)
			for _, i := range o.Status.LoadBalancer.Ingress {
				add(name, "status.loadBalancer", i.IP)
			}
		}
	case *corev1.PodList:
		for _, o := range l.Items {
			for _, ip := range o.Status.PodIPs {
				add("Pod "+o.Namespace+"/"+o.Name, "status.podIPs", ip.IP)
			}
		}
	}
	return out
}

// prefixOf parses a range or an address. It reports false for a text that is neither, for example None.
func prefixOf(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), true
}
