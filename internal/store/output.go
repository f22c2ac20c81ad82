package store

import (
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Output is the access of a rule that emits items of one type. Items are emitted in canonical form. The model owns the
// lists of an item, and the item stays until the rule is evaluated again.
type Output[K comparable, V any] struct {
	to *incremental.Emitter[K, V]
	// prepare makes an item canonical and returns its key.
	prepare func(*V) K
}

// Emit adds an item. Entries of other relations may have the reference to it, which must not be modified.
func (o Output[K, V]) Emit(item V) *V {
	key := o.prepare(&item)
	return o.to.Emit(key, item)
}

// EmitsMeshes declares that a rule emits meshes. They get the other trust domains as aliases.
func (m *Model) EmitsMeshes(r *incremental.Rule) Output[string, model.Mesh] {
	trusted := incremental.Reads(r, m.TrustDomains)
	return Output[string, model.Mesh]{incremental.Emits(r, m.Meshes), func(mesh *model.Mesh) string {
		for _, domains := range trusted.Read(struct{}{}) {
			for _, domain := range domains {
				if domain != mesh.TrustDomain {
					mesh.TrustDomainAliases = append(mesh.TrustDomainAliases, domain)
				}
			}
		}
		mesh.Canonical()
		return mesh.Name
	}}
}

// EmitsWorkloads declares that a rule emits workloads.
func (m *Model) EmitsWorkloads(r *incremental.Rule) Output[model.Key, model.Workload] {
	return Output[model.Key, model.Workload]{incremental.Emits(r, m.Workloads), func(w *model.Workload) model.Key {
		w.Canonical()
		return w.Key
	}}
}

// EmitsServices declares that a rule emits services.
func (m *Model) EmitsServices(r *incremental.Rule) Output[model.Key, model.Service] {
	return Output[model.Key, model.Service]{incremental.Emits(r, m.Services), func(s *model.Service) model.Key {
		s.Canonical()
		return s.Key
	}}
}

// EmitsRouters declares that a rule emits routers.
func (m *Model) EmitsRouters(r *incremental.Rule) Output[model.Key, model.Router] {
	return Output[model.Key, model.Router]{incremental.Emits(r, m.Routers), func(router *model.Router) model.Key {
		router.Canonical()
		return router.Key
	}}
}

// EmitsDestinations declares that a rule emits destinations.
func (m *Model) EmitsDestinations(r *incremental.Rule) Output[model.Key, model.Destination] {
	return Output[model.Key, model.Destination]{
		incremental.Emits(r, m.Destinations), func(d *model.Destination) model.Key { return d.Key },
	}
}

// EmitsEndpoints declares that a rule emits endpoints.
func (m *Model) EmitsEndpoints(r *incremental.Rule) Output[model.Instance, model.Endpoint] {
	return Output[model.Instance, model.Endpoint]{
		incremental.Emits(r, m.Endpoints), func(e *model.Endpoint) model.Instance {
			e.Canonical()
			return e.Instance
		},
	}
}

// EmitsServiceGroups declares that a rule emits groups of services.
func (m *Model) EmitsServiceGroups(r *incremental.Rule) Output[model.Key, model.ServiceGroup] {
	return Output[model.Key, model.ServiceGroup]{
		incremental.Emits(r, m.ServiceGroups), func(g *model.ServiceGroup) model.Key {
			g.Canonical()
			return g.Key
		},
	}
}

// EmitsAuthorizationPolicies declares that a rule emits authorization policies.
func (m *Model) EmitsAuthorizationPolicies(r *incremental.Rule) Output[model.Key, model.AuthorizationPolicy] {
	return Output[model.Key, model.AuthorizationPolicy]{
		incremental.Emits(r, m.AuthorizationPolicies), func(a *model.AuthorizationPolicy) model.Key {
			a.Canonical()
			return model.Key{Mesh: a.Mesh, Name: a.Workload}
		},
	}
}

// EmitsFindings declares that a rule emits findings.
func (m *Model) EmitsFindings(r *incremental.Rule) Output[model.ObjectRef, model.Finding] {
	return Output[model.ObjectRef, model.Finding]{
		incremental.Emits(r, m.Findings), func(f *model.Finding) model.ObjectRef { return f.Object },
	}
}
