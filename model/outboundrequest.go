package model

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// OutboundRequest is what a workload asks to reach. It does not depend on the routes of services. Workloads with equal
// requests have the same outbound view.
type OutboundRequest struct {
	Mesh string
	DNS  DNSMode
	// Services are names of services, in order of precedence, without duplicates: those that inbound routes name, then
	// the backends.
	Services []string
	// All adds all other services of the mesh, by name.
	All bool
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
	key := OutboundKey{Mesh: r.Mesh}
	h.Sum(key.hash[:0])
	return key
}

// requestOf returns the request of a workload with the given inbound listeners.
func requestOf(w Workload, inbound []Inbound) OutboundRequest {
	r := OutboundRequest{Mesh: w.Mesh, DNS: w.DNS, All: w.BackendsAll}
	if r.DNS == "" {
		r.DNS = DNSUnresolved
	}
	seen, destinations := map[string]struct{}{}, map[string]struct{}{}
	for _, b := range requestedBackends(w, inbound) {
		if _, again := seen[b.Service]; !again {
			seen[b.Service] = struct{}{}
			r.Services = append(r.Services, b.Service)
		}
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

// requestedBackends lists the services that inbound routes name, with the origins of the routes, and the backends.
func requestedBackends(w Workload, inbound []Inbound) []Backend {
	var out []Backend
	for _, in := range inbound {
		for _, route := range in.Routes {
			if s := route.Action.Service; s != nil {
				out = append(out, Backend{Service: s.Service, Origin: route.Origin})
			}
		}
	}
	if !w.BackendsAll {
		out = append(out, w.Backends...)
	}
	return out
}

// ConflictFindings returns a finding for each conflict of the view's outbound view, at the field that names the
// service. If the workload reaches all services of its mesh, the finding is at the service.
func (v *View) ConflictFindings(conflicts []PortConflict) []Finding {
	if len(conflicts) == 0 {
		return nil
	}
	origins := map[string][]Origin{}
	for _, b := range requestedBackends(v.Workload, v.Inbound) {
		origins[b.Service] = append(origins[b.Service], b.Origin)
	}
	var out []Finding
	for _, c := range conflicts {
		at := origins[c.Service]
		if v.Workload.BackendsAll {
			at = append(slices.Clone(at), c.Origin)
		}
		for _, origin := range at {
			out = append(out, NewFinding(origin, CodePortConflict, c.Text))
		}
	}
	return SortFindings(out)
}
