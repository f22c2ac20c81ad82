package osm

import (
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// addIngressSources adds the rule that lists the addresses of the Services that IngressBackends name as sources.
func (r *rules) addIngressSources(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "endpoints of ingress sources")
	incremental.Each(rule, store.Of[*discoveryv1.EndpointSlice](objects), &sourceAddressRule{
		incremental.Reads(rule, r.ingressSources), incremental.Emits(rule, r.sourceAddresses),
	}, (*sourceAddressRule).evaluate)
}

type sourceAddressRule struct {
	sources   *incremental.Reader[types.NamespacedName, struct{}]
	addresses *incremental.Emitter[types.NamespacedName, netip.Addr]
}

// evaluate emits the addresses of an EndpointSlice. An address that is not ready may still send requests.
func (r *sourceAddressRule) evaluate(id types.NamespacedName, all []*discoveryv1.EndpointSlice) {
	slice := all[0]
	service := types.NamespacedName{Namespace: id.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
	if _, used := r.sources.ReadFirst(service); !used {
		return
	}
	for _, e := range slice.Endpoints {
		for _, text := range e.Addresses {
			if a, err := netip.ParseAddr(text); err == nil { // an FQDN is no address
				r.addresses.Emit(service, a)
			}
		}
	}
}
