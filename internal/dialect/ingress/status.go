package ingress

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
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
	var ports []networkingv1.IngressPortStatus
	if conflicts(out, in.Findings) {
		ports = []networkingv1.IngressPortStatus{
			{Port: httpPort, Protocol: corev1.ProtocolTCP, Error: new(api.NameConflict)},
		}
	}
	for _, address := range all {
		entry := networkingv1.IngressLoadBalancerIngress{Hostname: address}
		if _, err := netip.ParseAddr(address); err == nil {
			entry = networkingv1.IngressLoadBalancerIngress{IP: address}
		}
		entry.Ports = ports
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress, entry)
	}
	return out
}

// httpPort is the port of the gateway for clients.
const httpPort = 80

// conflicts reports whether other objects have all paths of an Ingress.
func conflicts(o *networkingv1.Ingress, findings []model.Finding) bool {
	paths, taken := 0, 0
	for _, rule := range o.Spec.Rules {
		if rule.HTTP != nil {
			paths += len(rule.HTTP.Paths)
		}
	}
	for _, f := range findings {
		if f.Code == model.CodeNameConflict && strings.Contains(f.Path, ".paths[") {
			taken++
		}
	}
	return paths > 0 && taken >= paths
}
