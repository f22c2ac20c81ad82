package model

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Canonical sorts the lists whose order has no meaning, in place, and returns the model. It keeps the order of
// routes, weighted destinations and chains, which has a meaning.
func (m *Model) Canonical() *Model {
	slices.SortFunc(m.Meshes, func(a, b Mesh) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Workloads, func(a, b Workload) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(m.Services, func(a, b Service) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(m.Routers, func(a, b Router) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(m.Destinations, func(a, b Destination) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(m.Endpoints, Endpoint.Compare)
	slices.SortFunc(m.ServiceGroups, func(a, b ServiceGroup) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(m.AuthorizationPolicies, AuthorizationPolicy.Compare)
	for i := range m.Meshes {
		m.Meshes[i].Canonical()
	}
	for i := range m.Workloads {
		m.Workloads[i].Canonical()
	}
	for i := range m.Services {
		m.Services[i].Canonical()
	}
	for i := range m.Routers {
		m.Routers[i].Canonical()
	}
	for i := range m.Endpoints {
		m.Endpoints[i].Canonical()
	}
	for i := range m.ServiceGroups {
		m.ServiceGroups[i].Canonical()
	}
	for i := range m.AuthorizationPolicies {
		m.AuthorizationPolicies[i].Canonical()
	}
	return m
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (m *Mesh) Canonical() {
	slices.Sort(m.EgressNames)
	slices.Sort(m.TrustDomainAliases)
	m.TrustDomainAliases = slices.Compact(m.TrustDomainAliases)
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (w *Workload) Canonical() {
	slices.SortFunc(w.Listeners, func(a, b Listener) int {
		return firstNonZero(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol),
			strings.Compare(a.Socket, b.Socket))
	})
	slices.SortFunc(w.Backends, func(a, b Backend) int { return strings.Compare(a.Service, b.Service) })
	slices.SortFunc(w.External, func(a, b Backend) int { return strings.Compare(a.Service, b.Service) })
	for _, e := range w.EgressRules {
		slices.SortFunc(e.Addresses, comparePrefixes)
		slices.Sort(e.ServerNames)
	}
	slices.SortFunc(w.EgressRules, EgressRule.Compare)
	slices.Sort(w.ClientGroups)
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (s *Service) Canonical() {
	slices.Sort(s.Hosts)
	slices.Sort(s.Aliases)
	if s.GroupAliases != nil {
		slices.Sort(s.GroupAliases.Aliases)
	}
	slices.SortFunc(s.Addresses, netip.Addr.Compare)
	slices.SortFunc(s.Reserved, netip.Addr.Compare)
	slices.SortFunc(s.Pods, func(a, b ServicePod) int {
		return firstNonZero(a.Address.Compare(b.Address), strings.Compare(a.Workload, b.Workload))
	})
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (r *Router) Canonical() {
	slices.SortFunc(r.Ports, func(a, b RouterPort) int {
		return firstNonZero(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (e *Endpoint) Canonical() { slices.Sort(e.Groups) }

// Canonical sorts the lists of the item, see Model.Canonical.
func (g *ServiceGroup) Canonical() {
	slices.SortFunc(g.Members, func(a, b Backend) int { return strings.Compare(a.Service, b.Service) })
}

// Canonical sorts the lists of the item, see Model.Canonical.
func (a *AuthorizationPolicy) Canonical() {
	slices.SortFunc(a.Sources, func(x, y Identity) int { return strings.Compare(x.String(), y.String()) })
	slices.Sort(a.Ports)
	if c := a.Ingress; c != nil {
		slices.SortFunc(c.Addresses, comparePrefixes)
		slices.Sort(c.ServerNames)
		slices.Sort(c.Names)
	}
}

func comparePrefixes(a, b netip.Prefix) int {
	return firstNonZero(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// Compare orders keys by mesh and name.
func (k Key) Compare(o Key) int {
	return firstNonZero(strings.Compare(k.Mesh, o.Mesh), strings.Compare(k.Name, o.Name))
}

// Compare orders endpoints by workload and instance.
func (e Endpoint) Compare(o Endpoint) int {
	return firstNonZero(e.Workload.Compare(o.Workload), e.Instance.compare(o.Instance))
}

func (i Instance) compare(o Instance) int {
	return firstNonZero(strings.Compare(i.Namespace, o.Namespace), strings.Compare(i.Name, o.Name),
		strings.Compare(i.UID, o.UID))
}

// Merge combines fragments into one canonical model. The model takes over the slices of the fragments.
func Merge(fragments ...Model) *Model {
	var m Model
	for _, f := range fragments {
		m.Meshes = append(m.Meshes, f.Meshes...)
		m.Workloads = append(m.Workloads, f.Workloads...)
		m.Services = append(m.Services, f.Services...)
		m.Routers = append(m.Routers, f.Routers...)
		m.Destinations = append(m.Destinations, f.Destinations...)
		m.Endpoints = append(m.Endpoints, f.Endpoints...)
		m.ServiceGroups = append(m.ServiceGroups, f.ServiceGroups...)
		m.AuthorizationPolicies = append(m.AuthorizationPolicies, f.AuthorizationPolicies...)
	}
	return m.Canonical()
}
