package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
)

// The EndpointSlice with the addresses of the API servers.
const (
	apiServerNamespace = metav1.NamespaceDefault
	apiServerName      = "kubernetes"
)

// apiServers knows the addresses of API servers, whose webhook requests have limits of their own. By default, a webhook
// request has no credentials.
type apiServers struct {
	ranges []netip.Prefix
	node   func(netip.Addr) bool
	slice  atomic.Pointer[[]netip.Addr]
}

// Has reports whether an address is that of an API server: an address of the EndpointSlice, in a configured range, or
// of the node of this pod, where an API server may run.
func (a *apiServers) Has(address netip.Addr) bool {
	if known := a.slice.Load(); known != nil && slices.Contains(*known, address) {
		return true
	}
	return a.node(address) || slices.ContainsFunc(a.ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

// run keeps the addresses of the EndpointSlice up to date. If it cannot be read, the last addresses stay.
func (a *apiServers) run(ctx context.Context, kube kubernetes.Interface) {
	source := toolscache.NewListWatchFromClient(kube.DiscoveryV1().RESTClient(), "endpointslices", apiServerNamespace,
		fields.OneTermEqualSelector(metav1.ObjectNameField, apiServerName))
	set := func(o any) {
		if slice, is := o.(*discoveryv1.EndpointSlice); is {
			a.set(slice)
		}
	}
	_, controller := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: source, ObjectType: &discoveryv1.EndpointSlice{},
		Handler: toolscache.ResourceEventHandlerFuncs{AddFunc: set, UpdateFunc: func(_, now any) { set(now) }},
	})
	controller.RunWithContext(ctx)
}

func (a *apiServers) set(slice *discoveryv1.EndpointSlice) {
	var out []netip.Addr
	for _, endpoint := range slice.Endpoints {
		for _, text := range endpoint.Addresses {
			if address, err := netip.ParseAddr(text); err == nil {
				out = append(out, address.Unmap())
			}
		}
	}
	a.slice.Store(&out)
}

// ParseRanges reads IP addresses and CIDR ranges.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if address, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an IP address nor a CIDR range", text)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}
