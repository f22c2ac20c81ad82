package model

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
)

// OutboundRequest is what a workload asks to reach. It does not depend on the routes of services. Workloads with equal
// requests have the same outbound view.
type OutboundRequest struct {
	Mesh string
	DNS  DNSMode
	// Gateway is true for a gateway: only its inbound routes use the services.
	Gateway bool
	// ListenerPorts are the ports of the listeners of a gateway that send requests to services by their host names.
	ListenerPorts []uint16
	// AccessLog is the access log of outbound connections; nil for none.
	AccessLog *AccessLog
	// Services are names of services, in order of precedence, without duplicates: those that inbound routes name, then
	// the backends.
	Services []string
	// policies are the client policies of Services, nil for those without; nil if no service has one.
	policies []*ClientPolicy
	// ClientPolicy is that of other services.
	ClientPolicy *ClientPolicy
	// Groups are the names of groups of further services, in order of precedence.
	Groups []string
	// All adds all other services of the mesh, by name.
	All bool
	// External are the names of private services, after all others.
	External []string
	// ClientGroups are those of the workload.
	ClientGroups []string
	// EgressRules are those of the workload, without origins.
	EgressRules []EgressRule
	// Destinations are the names of the destinations of inbound routes, sorted.
	Destinations []string
}

// OutboundKey identifies an outbound view by the content of its request.
type OutboundKey struct {
	Mesh string
	hash [sha256.Size]byte
}

// String returns the mesh and a part of the hash.
func (k OutboundKey) String() string { return k.Mesh + "/" + hex.EncodeToString(k.hash[:8]) }

// Key returns the key of the request.
func (r OutboundRequest) Key() OutboundKey {
	h := sha256.New()
	for _, list := range [][]string{{string(r.DNS)}, r.Services, r.Destinations} {
		writeInt(h, int64(len(list)))
		for _, name := range list {
			writeBytes(h, []byte(name))
		}
	}
	if r.All {
		writeBytes(h, []byte("all"))
	}
	if r.Gateway {
		writeBytes(h, []byte("gateway"))
	}
	if len(r.External)+len(r.EgressRules) > 0 {
		writeBytes(h, []byte("external"))
		writeValue(h, reflect.ValueOf(r.External))
		writeValue(h, reflect.ValueOf(r.EgressRules))
	}
	if len(r.ClientGroups) > 0 {
		writeBytes(h, []byte("clients"))
		writeValue(h, reflect.ValueOf(r.ClientGroups))
	}
	if len(r.ListenerPorts) > 0 {
		writeBytes(h, []byte("ports"))
		writeValue(h, reflect.ValueOf(r.ListenerPorts))
	}
	if r.AccessLog != nil {
		writeBytes(h, []byte("log"))
		writeValue(h, reflect.ValueOf(r.AccessLog))
	}
	if len(r.Groups) > 0 {
		writeBytes(h, []byte("groups"))
		writeValue(h, reflect.ValueOf(r.Groups))
	}
	if r.policies != nil || r.ClientPolicy != nil {
		writeValue(h, reflect.ValueOf(r.ClientPolicy))
		writeValue(h, reflect.ValueOf(r.policies))
	}
	key := OutboundKey{Mesh: r.Mesh}
	h.Sum(key.hash[:0])
	return key
}

// Request returns the request of the workload for its outbound view.
func (v *View) Request() OutboundRequest { return requestOf(v.Workload, v.Inbound) }

// requestOf returns the request of a workload with the given inbound listeners.
func requestOf(w Workload, inbound []Inbound) OutboundRequest {
	r := OutboundRequest{
		Mesh: w.Mesh, DNS: w.DNS, Gateway: w.Role == RoleGateway, All: w.BackendsAll, ClientPolicy: w.ClientPolicy,
		ClientGroups: w.ClientGroups,
	}
	for _, l := range w.Listeners {
		if r.Gateway && l.Router == "" {
			r.ListenerPorts = append(r.ListenerPorts, l.Port)
		}
	}
	if w.AccessLog != nil && !r.Gateway {
		r.AccessLog = new(*w.AccessLog)
		r.AccessLog.Origin = Origin{} // workloads with equal formats share an outbound view
	}
	if r.DNS == "" {
		r.DNS = DNSUnresolved
	}
	seen, destinations := make(map[string]struct{}, len(w.Backends)), map[string]struct{}{}
	eachRequested(w, inbound, func(service string, _ Origin) {
		if _, again := seen[service]; !again {
			seen[service] = struct{}{}
			r.Services = append(r.Services, service)
		}
	})
	r.policies = policiesOf(w, r.Services)
	for _, ref := range w.ServiceGroups {
		r.Groups = append(r.Groups, ref.Group)
	}
	for _, b := range w.External {
		r.External = append(r.External, b.Service)
	}
	for _, e := range w.EgressRules {
		e.Origin = Origin{} // workloads with equal rules share an outbound view
		r.EgressRules = append(r.EgressRules, e)
	}
	for _, in := range inbound {
		for _, route := range in.Routes {
			for _, name := range route.Action.destinations() {
				destinations[name] = struct{}{}
			}
		}
	}
	r.Destinations = slices.Sorted(maps.Keys(destinations))
	return r
}

// policiesOf returns the client policies of the backends of a workload for a list of services, or nil if it has none.
func policiesOf(w Workload, services []string) []*ClientPolicy {
	byService := map[string]*ClientPolicy{}
	for _, b := range w.Backends {
		if b.ClientPolicy != nil {
			byService[b.Service] = b.ClientPolicy
		}
	}
	if len(byService) == 0 {
		return nil
	}
	out := make([]*ClientPolicy, len(services))
	for i, name := range services {
		out[i] = byService[name]
	}
	return out
}

// eachRequested calls f for the services that inbound routes name, with the origins of the routes, and for the
// backends.
func eachRequested(w Workload, inbound []Inbound, f func(service string, origin Origin)) {
	for _, in := range inbound {
		for _, route := range in.Routes {
			if s := route.Action.Service; s != nil {
				f(s.Service, route.Origin)
			}
		}
	}
	if w.BackendsAll {
		return
	}
	for _, b := range w.Backends {
		f(b.Service, w.BackendOrigin(b))
	}
}

// ConflictFindings returns a finding for each conflict of the view's outbound view, at the field that names the
// service, or the group with it. If the workload reaches all services of its mesh, the finding is at the service.
func (v *View) ConflictFindings(conflicts []Conflict) []Finding {
	if len(conflicts) == 0 {
		return nil
	}
	origins := map[string][]Origin{}
	eachRequested(v.Workload, v.Inbound, func(service string, origin Origin) {
		origins[service] = append(origins[service], origin)
	})
	external := map[string]bool{}
	for _, b := range v.Workload.External {
		external[b.Service] = true
		origins[b.Service] = append(origins[b.Service], v.Workload.BackendOrigin(b))
	}
	var out []Finding
	for _, c := range conflicts {
		at := origins[c.Service]
		if ref, is := v.Workload.groupReference(c.Group); is {
			at = []Origin{v.Workload.Origin.At(ref.Path)}
		}
		if v.Workload.BackendsAll && c.Group == "" && !external[c.Service] {
			at = append(slices.Clone(at), c.Origin)
		}
		for _, origin := range at {
			out = append(out, NewFinding(origin, c.Code, c.Text))
		}
	}
	return SortFindings(out)
}
