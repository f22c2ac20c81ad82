package model

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// OutboundView is the part of a view that workloads with the same backends share.
type OutboundView struct {
	// Gateway is true for a gateway: it takes no outbound connections, and its inbound routes use Outbound.
	Gateway bool `json:"gateway,omitempty"`
	// ListenerPorts are the ports of Outbound whose requests come from listeners of the gateway.
	ListenerPorts []uint16 `json:"listenerPorts,omitempty"`
	// AccessLog is that of the workload; nil for a gateway, which logs the requests of its clients.
	AccessLog *AccessLog `json:"accessLog,omitempty"`
	// Outbound are the ports of the workload's backends, with the services on each.
	Outbound []Outbound `json:"outbound,omitempty"`
	// EgressRules are those of the workload.
	EgressRules []EgressRule `json:"egressRules,omitempty"`
	// Hosts are the reachable host names that the DNS server of the agent answers, in order.
	Hosts []Host `json:"hosts,omitempty"`
	// Destinations are the targets of the routes, also of the routes for inbound traffic, by name.
	Destinations []Destination `json:"destinations,omitempty"`

	// services are the services of the request that exist, in its order, and egress is that of the mesh: the source of
	// the other fields, except for destinations that the request names.
	services []*ReachableService
	// groups are the groups of the services, empty for those of no group; nil if no service has one.
	groups    []string
	egress    Egress
	conflicts []Conflict
}

// Conflicts returns the services that the outbound view does not serve on one of their ports.
func (v *OutboundView) Conflicts() []Conflict { return v.conflicts }

// MadeFrom reports whether both outbound views of one request are made from the same parts, and thus equal. It may
// report false for equal ones.
func (v *OutboundView) MadeFrom(o *OutboundView) bool {
	return v.egress == o.egress && slices.Equal(v.services, o.services) && slices.Equal(v.groups, o.groups) &&
		len(v.Destinations) == len(o.Destinations) && reflect.DeepEqual(v.Destinations, o.Destinations)
}

// Destination finds a destination of the outbound view.
func (v *OutboundView) Destination(name string) (Destination, bool) {
	i, ok := v.DestinationIndex(name)
	if !ok {
		return Destination{}, false
	}
	return v.Destinations[i], true
}

// DestinationIndex returns the position of a destination in Destinations.
func (v *OutboundView) DestinationIndex(name string) (int, bool) {
	return slices.BinarySearchFunc(v.Destinations, name, func(d Destination, n string) int {
		return strings.Compare(d.Name, n)
	})
}

// Conflict is a service of an outbound view that is not served on a port, or not with its client policy.
type Conflict struct {
	Service string
	Code    Code
	// Group is the group of the service; empty if the request names the service.
	Group string
	// Origin is the origin of the service.
	Origin Origin
	Text   string
}

// Equal reports whether two conflicts are equal.
func (c Conflict) Equal(o Conflict) bool {
	return c.Service == o.Service && c.Code == o.Code && c.Group == o.Group && c.Origin.Equal(o.Origin) && c.Text == o.Text
}

// OutboundCatalog finds the items that an outbound view consists of. It reports false for items that do not exist.
type OutboundCatalog interface {
	Mesh(name string) (Mesh, bool)
	ReachableService(Key) (*ReachableService, bool)
	// ServiceNames lists the names of the services of a mesh that are not private, sorted.
	ServiceNames(mesh string) []string
	Destination(Key) (*Destination, bool)
	ServiceGroup(Key) (ServiceGroup, bool)
}

// NewOutboundView creates the outbound view for a request. It shares memory with the items of the catalog, and with the
// previous outbound view of the request, which may be nil: if only routes changed since, they are replaced. It reports
// false if the mesh does not exist.
func NewOutboundView(c OutboundCatalog, request OutboundRequest, before *OutboundView) (OutboundView, bool) {
	mesh, ok := c.Mesh(request.Mesh)
	if !ok {
		return OutboundView{}, false
	}
	requested := request.services(c)
	targets := request.targets(c)
	if before != nil && before.egress == mesh.Egress && before.hasDestinations(targets) {
		if replaced, done := before.replaceRoutes(requested); done {
			return replaced, true
		}
	}
	b := newOutboundBuilder(mesh, request.DNS, len(requested), before)
	// The pods of a headless Service come and go. Without one, it takes no port from another service.
	var without []requestedService
	for _, s := range requested {
		if s.lacksPods(request.DNS) {
			without = append(without, s)
			continue
		}
		b.add(s)
	}
	for _, s := range without {
		b.add(s)
	}
	for i := range targets {
		b.destinations = append(b.destinations, outboundDestination{Destination: &targets[i]})
	}
	out := b.view()
	out.Gateway, out.ListenerPorts, out.AccessLog = request.Gateway, request.ListenerPorts, request.AccessLog
	out.EgressRules = request.EgressRules
	out.services, out.groups = splitGroups(requested)
	return out, true
}

// bindings returns the number of bindings on a port. The outbound view may be nil.
func (v *OutboundView) bindings(port uint16) int {
	if v == nil {
		return 0
	}
	if on := v.port(port); on != nil {
		return len(on.Bindings)
	}
	return 0
}

// requestedService is a service of a request that exists.
type requestedService struct {
	*ReachableService
	policy *ClientPolicy
	// group is the group with the service; empty if the request names the service.
	group string
}

// services returns the services that exist, each once. The dialect reports a finding for others.
func (r *OutboundRequest) services(c OutboundCatalog) []requestedService {
	out := r.servicesOfMesh(c)
	for _, name := range r.External {
		if s, known := c.ReachableService(Key{r.Mesh, name}); known {
			out = append(out, requestedService{ReachableService: s})
		}
	}
	return out
}

func (r *OutboundRequest) servicesOfMesh(c OutboundCatalog) []requestedService {
	out := make([]requestedService, 0, len(r.Services))
	add := func(name, group string, policy *ClientPolicy) {
		if s, known := c.ReachableService(Key{r.Mesh, name}); known {
			out = append(out, requestedService{s.of(r.ClientGroups), policy, group})
		}
	}
	for i, name := range r.Services {
		policy := r.ClientPolicy
		if own := r.policies; own != nil && own[i] != nil {
			policy = own[i]
		}
		add(name, "", policy)
	}
	if len(r.Groups) == 0 && !r.All {
		return out
	}
	seen := make(map[string]struct{}, len(r.Services))
	for _, name := range r.Services {
		seen[name] = struct{}{}
	}
	unseen := func(name string) bool {
		_, again := seen[name]
		seen[name] = struct{}{}
		return !again
	}
	for _, name := range r.Groups {
		group, _ := c.ServiceGroup(Key{r.Mesh, name})
		for _, b := range group.Members {
			if unseen(b.Service) {
				add(b.Service, name, r.ClientPolicy)
			}
		}
	}
	if r.All {
		for _, name := range c.ServiceNames(r.Mesh) {
			if unseen(name) {
				add(name, "", r.ClientPolicy)
			}
		}
	}
	return out
}

// splitGroups returns services, and their groups, which are nil if no service has one.
func splitGroups(all []requestedService) (services []*ReachableService, groups []string) {
	services = make([]*ReachableService, len(all))
	for i, s := range all {
		services[i] = s.ReachableService
		if s.group != "" && groups == nil {
			groups = make([]string, len(all))
		}
		if groups != nil {
			groups[i] = s.group
		}
	}
	return services, groups
}

// targets returns the destinations of inbound routes.
func (r *OutboundRequest) targets(c OutboundCatalog) []Destination {
	var out []Destination
	for _, name := range r.Destinations {
		if found, known := c.Destination(Key{r.Mesh, name}); known {
			d := *found
			d.TLS = r.ClientPolicy.tls(&d)
			out = append(out, d)
		}
	}
	return out
}

func (v *OutboundView) hasDestinations(all []Destination) bool {
	return !slices.ContainsFunc(all, func(d Destination) bool {
		i, ok := v.DestinationIndex(d.Name)
		return !ok || !reflect.DeepEqual(v.Destinations[i], d)
	})
}

// replaceRoutes returns the outbound view with other versions of its services. It reports false if they differ in more
// than routes.
func (v *OutboundView) replaceRoutes(requested []requestedService) (OutboundView, bool) {
	services, groups := splitGroups(requested)
	if len(services) != len(v.services) || !slices.Equal(groups, v.groups) {
		return OutboundView{}, false
	}
	out := *v
	out.services, out.Outbound = services, slices.Clone(v.Outbound)
	cloned := map[uint16]bool{}
	for i, s := range services {
		before := v.services[i]
		if s == before {
			continue
		}
		if !s.equalExceptRoutes(before) {
			return OutboundView{}, false
		}
		for _, p := range s.Ports {
			on := out.port(p.Port)
			if on == nil {
				continue // no service is served on it
			}
			if !cloned[p.Port] {
				on.Bindings, cloned[p.Port] = slices.Clone(on.Bindings), true
			}
			if b := on.binding(Binding{Service: s.Service.Name, Protocol: p.Protocol}); b != nil && b.source == before {
				b.Routes, b.features, b.source = p.Routes, p.features, s
			}
		}
	}
	return out, true
}

// port returns the outbound port with the number, or nil.
func (v *OutboundView) port(number uint16) *Outbound {
	i, ok := slices.BinarySearchFunc(v.Outbound, number, func(o Outbound, n uint16) int { return cmp.Compare(o.Port, n) })
	if !ok {
		return nil
	}
	return &v.Outbound[i]
}

// binding returns the binding of the service and protocol of another one, or nil.
func (o *Outbound) binding(like Binding) *Binding {
	i, ok := slices.BinarySearchFunc(o.Bindings, like, compareBindings)
	if !ok {
		return nil
	}
	return &o.Bindings[i]
}

func compareBindings(a, b Binding) int {
	return firstNonZero(strings.Compare(a.Service, b.Service), strings.Compare(string(a.Protocol), string(b.Protocol)))
}
