package store

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// requestAddress reserves an address for a service without one: no Service has the name, or it is headless.
func (m *Mesh) requestAddress(t *incremental.Evaluation, _ model.Key, all []model.Service) {
	s := all[0]
	if addresses, _ := m.clusterAddresses(t, s); len(s.Addresses)+len(addresses) == 0 {
		m.reserve(t, s.Name)
	}
}

// addressService adds the addresses of a service: those of the Service in the cluster that has its name, else reserved
// ones.
func (m *Mesh) addressService(t *incremental.Evaluation, key model.Key, all []model.Service) {
	s := all[0]
	if len(s.Addresses) == 0 {
		s.Addresses, _ = m.clusterAddresses(t, s)
		s.Unresolved = m.unresolved(t, s)
	}
	if len(s.Addresses) == 0 {
		s.Reserved = m.reserved.Read(t, hostKey(s.Name))
	}
	if s.Unresolved && len(s.Reserved) == 0 {
		m.Report(t, model.NewFinding(s.Origin, model.CodeNoAddress, fmt.Sprintf(
			"no reserved address is left for %s; create a Service with this name, use fewer names, or set larger ranges "+
				"in osm.reservedRanges of the Helm values", s.Name)))
	}
	m.addressed.Emit(t, key, s)
	m.services.Emit(t, key.Mesh, s)
}

// unresolved reports whether the DNS of the cluster does not know the name of a service: no Service has the name, and
// it is not the host name of one of the service's own destinations.
func (m *Mesh) unresolved(t *incremental.Evaluation, s model.Service) bool {
	if _, inCluster := m.clusterAddresses(t, s); inCluster {
		return false
	}
	router, _ := m.Routers.ReadFirst(t, model.Key{Mesh: s.Mesh, Name: s.Router})
	for _, route := range router.Routes {
		for _, to := range route.Action.Destinations {
			d, _ := m.Destinations.ReadFirst(t, model.Key{Mesh: s.Mesh, Name: to.Destination})
			if strings.EqualFold(d.Discovery.Hostname, s.Name) {
				return false
			}
		}
	}
	return true
}

// clusterAddresses returns the cluster IPs of the Service with the name of a mesh service, sorted. It reports false if
// there is no such Service.
func (m *Mesh) clusterAddresses(t *incremental.Evaluation, s model.Service) ([]netip.Addr, bool) {
	for _, host := range append([]string{s.Name}, s.Aliases...) {
		name, ok := ServiceName(host, s.Origin.Object.Namespace)
		if !ok {
			continue
		}
		if service, there := m.clusterServices.ReadFirst(t, name); there {
			return clusterIPs(service), true
		}
	}
	return nil, false
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
