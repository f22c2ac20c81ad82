package ingress

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// StatusKinds returns the kind with a status that the dialect writes.
func (d Dialect) StatusKinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	return []client.Object{&networkingv1.Ingress{}}
}

// Status returns a copy of an Ingress with the addresses of the gateway. An Ingress of another class is not changed:
// its status belongs to others.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := object.DeepCopyObject().(*networkingv1.Ingress)
	all, served := dialect.StateOf[addresses](in)
	if !served {
		return out
	}
	out.Status.LoadBalancer.Ingress = nil
	for _, address := range all {
		entry := networkingv1.IngressLoadBalancerIngress{Hostname: address}
		if _, err := netip.ParseAddr(address); err == nil {
			entry = networkingv1.IngressLoadBalancerIngress{IP: address}
		}
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress, entry)
	}
	return out
}
