package ingress

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
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

// separator separates addresses in the membership of an Ingress.
const separator = ","

// Status returns a copy of an Ingress with the addresses of the gateway. An Ingress of another class is not changed:
// its status belongs to others.
func (Dialect) Status(object client.Object, addresses string, findings []model.Finding, now time.Time) client.Object {
	out := object.DeepCopyObject().(client.Object)
	ingress, is := out.(*networkingv1.Ingress)
	if !is {
		var state gatewayState
		_ = json.Unmarshal([]byte(addresses), &state) // an empty text is the state of an object of another class
		return gatewayStatus(out, state, findings, now)
	}
	if addresses == "" {
		return ingress
	}
	ingress.Status.LoadBalancer.Ingress = nil
	for address := range strings.SplitSeq(strings.TrimPrefix(addresses, mesh), separator) {
		if address == "" {
			continue
		}
		entry := networkingv1.IngressLoadBalancerIngress{Hostname: address}
		if isIP(address) {
			entry = networkingv1.IngressLoadBalancerIngress{IP: address}
		}
		ingress.Status.LoadBalancer.Ingress = append(ingress.Status.LoadBalancer.Ingress, entry)
	}
	return ingress
}

// membership is what Status needs of the gateway: the name of the mesh, and each address after a separator.
func membership(addresses []string) string {
	return strings.Join(append([]string{mesh}, slices.Compact(addresses)...), separator)
}

func isIP(address string) bool {
	_, err := netip.ParseAddr(address)
	return err == nil
}
