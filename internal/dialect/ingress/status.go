package ingress

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/incremental"
)

// addressRule adds the addresses of the gateway: those of the load balancer, or the cluster IPs of a Service of another
// type.
type addressRule struct {
	Dialect
	addresses *incremental.Emitter[allKey, string]
}

func (r *addressRule) evaluate(id types.NamespacedName, all []*corev1.Service) {
	if id != (types.NamespacedName{Namespace: r.Namespace, Name: gatewayName}) {
		return
	}
	service := all[0]
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		for _, ip := range service.Spec.ClusterIPs {
			r.addresses.Emit(allKey{}, ip)
		}
	}
	for _, at := range service.Status.LoadBalancer.Ingress {
		if address := cmp.Or(at.IP, at.Hostname); address != "" {
			r.addresses.Emit(allKey{}, address)
		}
	}
}

// StatusKinds returns the kind with a status that the dialect writes.
func (d Dialect) StatusKinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	out := []client.Object{&networkingv1.Ingress{}}
	if d.GatewayAPI {
		out = append(out, gatewayKinds()...)
	}
	return out
}

// Status returns a copy of an Ingress with the addresses of the gateway, or of an object of Gateway API with what is
// served of it. Of another class, its status belongs to others, and is not changed.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := object.DeepCopyObject().(client.Object)
	state, served := dialect.StateOf[state](in)
	ingress, is := out.(*networkingv1.Ingress)
	switch {
	case !is:
		return gatewayStatus(out, state, in.Findings, in.Now)
	case served:
		ingress.Status.LoadBalancer.Ingress = nil
		for _, address := range state.addresses {
			entry := networkingv1.IngressLoadBalancerIngress{Hostname: address}
			if isIP(address) {
				entry = networkingv1.IngressLoadBalancerIngress{IP: address}
			}
			ingress.Status.LoadBalancer.Ingress = append(ingress.Status.LoadBalancer.Ingress, entry)
		}
	}
	return ingress
}

// distinct returns a copy of sorted addresses without duplicates.
func distinct(addresses []string) []string { return slices.Compact(slices.Clone(addresses)) }

func isIP(address string) bool {
	_, err := netip.ParseAddr(address)
	return err == nil
}
