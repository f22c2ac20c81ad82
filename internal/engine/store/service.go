package store

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// addressService adds the addresses of a service: those of the Service in the cluster that has its name.
func (m *Mesh) addressService(t *incremental.Evaluation, key model.Key, all []model.Service) {
	s := all[0]
	if len(s.Addresses) == 0 {
		s.Addresses = m.clusterAddresses(t, s)
	}
	m.addressed.Emit(t, key, s)
	m.services.Emit(t, key.Mesh, s)
}

// clusterAddresses returns the cluster IPs of the Service with the name of a mesh service, sorted.
func (m *Mesh) clusterAddresses(t *incremental.Evaluation, s model.Service) []netip.Addr {
	for _, host := range append([]string{s.Name}, s.Aliases...) {
		name, ok := ServiceName(host, s.Origin.Object.Namespace)
		if !ok {
			continue
		}
		if service, there := m.clusterServices.ReadFirst(t, name); there {
			return clusterIPs(service)
		}
	}
	return nil
}

// ServiceName returns the Service that a host name refers to in the cluster's DNS: NAME, NAME.NAMESPACE,
// NAME.NAMESPACE.svc or NAME.NAMESPACE.svc.DOMAIN. A name without dots refers to the given namespace.
func ServiceName(host, namespace string) (types.NamespacedName, bool) {
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	switch {
	case len(labels) == 1:
		return types.NamespacedName{Namespace: namespace, Name: labels[0]}, namespace != ""
	case len(labels) == 2, labels[2] == "svc":
		return types.NamespacedName{Namespace: labels[1], Name: labels[0]}, true
	}
	return types.NamespacedName{}, false
}

// clusterIPs lists the cluster IPs of a Service, sorted. A headless or external Service has none.
func clusterIPs(s *corev1.Service) []netip.Addr {
	ips := s.Spec.ClusterIPs
	if len(ips) == 0 {
		ips = []string{s.Spec.ClusterIP}
	}
	var out []netip.Addr
	for _, ip := range ips {
		if a, err := netip.ParseAddr(ip); err == nil {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}
