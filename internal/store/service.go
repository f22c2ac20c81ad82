package store

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// addServiceRules adds the rules that derive the addresses of services.
func (m *Mesh) addServiceRules(g *incremental.Graph) {
	r := incremental.NewRule(g, "names without address")
	incremental.Each(r, m.Services, requestRule{
		clusterAddresses{incremental.Reads(r, m.clusterServices)}, incremental.Emits(r, m.reservedNames),
	}, requestRule.evaluate)
	m.addAllocateRule(g)
	r = incremental.NewRule(g, "service")
	incremental.Each(r, m.Services, addressRule{
		clusterAddresses: clusterAddresses{incremental.Reads(r, m.clusterServices)},
		meshes:           incremental.Reads(r, m.Meshes),
		routers:          incremental.Reads(r, m.Routers), destinations: incremental.Reads(r, m.Destinations),
		pods:     incremental.Reads(r, m.servicePods),
		reserved: incremental.Reads(r, m.reserved), addressed: incremental.Emits(r, m.addressed),
		names: incremental.Emits(r, m.serviceNames), findings: m.EmitsFindings(r),
	}, addressRule.evaluate)
}

// requestRule requests a reserved address for each service without an address: no Service has the name, or it is
// headless.
type requestRule struct {
	clusterAddresses
	reservedNames *incremental.Emitter[allKey, string]
}

func (r requestRule) evaluate(_ model.Key, all []model.Service) {
	s := all[0]
	if addresses, _ := r.of(s); len(s.Addresses)+len(addresses) == 0 && !s.External && !s.Private {
		r.reservedNames.Emit(allKey{}, hostKey(s.Name))
	}
}

// addressRule adds the addresses of services: those of the Service in the cluster that has the name, else reserved
// ones.
type addressRule struct {
	clusterAddresses
	meshes       *incremental.Reader[string, model.Mesh]
	routers      *incremental.Reader[model.Key, model.Router]
	destinations *incremental.Reader[model.Key, model.Destination]
	pods         *incremental.Reader[types.NamespacedName, servicePod]
	reserved     *incremental.Reader[string, netip.Addr]
	addressed    *incremental.Emitter[model.Key, model.Service]
	names        *incremental.Emitter[string, string]
	findings     Output[model.ObjectRef, model.Finding]
}

func (r addressRule) evaluate(key model.Key, all []model.Service) {
	s := all[0]
	if s.Private {
		r.addressed.Emit(key, s)
		return
	}
	if len(s.Addresses) == 0 {
		s.Addresses, _ = r.of(s)
		s.Unresolved = !s.External && r.unresolved(s)
	}
	if len(s.Addresses) == 0 {
		s.Reserved = r.reserved.Read(hostKey(s.Name))
		if r.hasStreams(s) {
			s.Pods, s.Headless = r.podsOf(s, r.pods)
			s.NeedsAddress = !s.Headless && !s.External && !s.Unresolved && !isServiceName(s.Name) && r.denies(s.Mesh)
		}
	}
	if s.Unresolved && len(s.Reserved) == 0 {
		r.findings.Emit(model.NewFinding(s.Origin, model.CodeNoAddress, fmt.Sprintf(
			"no reserved address is left for %s; create a Service with this name, use fewer names, or set larger ranges "+
				"in osm.reservedRanges of the Helm values", s.Name)))
	}
	r.addressed.Emit(key, s)
	r.names.Emit(key.Mesh, s.Name)
}

// denies reports whether a mesh refuses connections to addresses that are not those of its services.
func (r addressRule) denies(mesh string) bool {
	m, _ := r.meshes.ReadFirst(mesh)
	return m.Egress == model.EgressDeny && !m.AnyAddress
}

// hasStreams reports whether a service has a port that takes no requests. Others do not depend on addresses.
func (r addressRule) hasStreams(s model.Service) bool {
	router, _ := r.routers.ReadFirst(model.Key{Mesh: s.Mesh, Name: s.Router})
	return slices.ContainsFunc(router.Ports, func(p model.RouterPort) bool { return !p.Protocol.Requests() })
}

// unresolved reports whether the DNS of the cluster does not know the name of a service: no Service has the name, and
// it is not the host name of one of the service's own destinations.
func (r addressRule) unresolved(s model.Service) bool {
	if _, inCluster := r.of(s); inCluster {
		return false
	}
	router, _ := r.routers.ReadFirst(model.Key{Mesh: s.Mesh, Name: s.Router})
	for _, route := range router.Routes {
		for _, to := range route.Action.Destinations {
			d, _ := r.destinations.ReadFirst(model.Key{Mesh: s.Mesh, Name: to.Destination})
			if strings.EqualFold(d.Discovery.Hostname, s.Name) {
				return false
			}
		}
	}
	return true
}

// clusterAddresses finds the Services of mesh services.
type clusterAddresses struct {
	clusterServices *incremental.Reader[types.NamespacedName, *corev1.Service]
}

// of returns the cluster IPs of the Service with the name of a mesh service, sorted. It reports false if there is no
// such Service.
func (c clusterAddresses) of(s model.Service) ([]netip.Addr, bool) {
	_, service, ok := c.service(s)
	if !ok {
		return nil, false
	}
	return clusterIPs(service), true
}

// service returns the Service with the name of a mesh service.
func (c clusterAddresses) service(s model.Service) (types.NamespacedName, *corev1.Service, bool) {
	for _, host := range append([]string{s.Name}, s.Aliases...) {
		name, ok := ServiceName(host, s.Origin.Object().Namespace)
		if !ok {
			continue
		}
		if service, there := c.clusterServices.ReadFirst(name); there {
			return name, service, true
		}
	}
	return types.NamespacedName{}, nil, false
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

// isServiceName reports whether a host name can be that of a Service: NAME, NAME.NAMESPACE, or one below
// NAME.NAMESPACE.svc. A Service that the input lacks, as files may, is not a server outside of the cluster.
func isServiceName(host string) bool {
	labels := strings.Split(strings.ToLower(host), ".")
	return len(labels) <= 2 || labels[2] == "svc"
}
