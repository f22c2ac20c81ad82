package store

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Model is the model as relations. If several objects emit an item with the same key, the oldest is first and is
// served.
type Model struct {
	Meshes        *incremental.Relation[string, model.Mesh]
	Workloads     *incremental.Relation[model.Key, model.Workload]
	Services      *incremental.Relation[model.Key, model.Service]
	Routers       *incremental.Relation[model.Key, model.Router]
	Destinations  *incremental.Relation[model.Key, model.Destination]
	Endpoints     *incremental.Relation[model.Instance, model.Endpoint]
	ServiceGroups *incremental.Relation[model.Key, model.ServiceGroup]
	// AuthorizationPolicies are keyed by the workload that they protect.
	AuthorizationPolicies *incremental.Relation[model.Key, model.AuthorizationPolicy]
	Findings              *incremental.Relation[model.ObjectRef, model.Finding]
	// Members holds the name of the mesh of each object that is served in one.
	Members *incremental.Relation[model.ObjectRef, string]

	// TrustDomains holds trust domains whose roots are trusted, also while that of the meshes is not among them.
	TrustDomains *incremental.Relation[struct{}, []string]

	states map[string]stateRelation // by dialect
}

// NewModel creates an empty model.
func NewModel(g *incremental.Graph) *Model {
	return &Model{
		Meshes:        byAge[string](g, "meshes", meshOrigin),
		Workloads:     byAge[model.Key](g, "workloads", workloadOrigin),
		Services:      byAge[model.Key](g, "services", serviceOrigin),
		Routers:       byAge[model.Key](g, "routers", routerOrigin),
		Destinations:  byAge[model.Key](g, "destinations", destinationOrigin),
		ServiceGroups: byAge[model.Key](g, "service groups", groupOrigin),
		AuthorizationPolicies: incremental.NewRelation[model.Key](g, "authorization policies",
			func(a, b model.AuthorizationPolicy) int {
				return cmp.Or(a.Origin.CompareAge(b.Origin), a.Compare(b))
			}, deepEqual[model.AuthorizationPolicy]),
		Endpoints: incremental.NewRelation[model.Instance](g, "endpoints", compareEndpoints,
			deepEqual[model.Endpoint]),
		Findings: incremental.NewRelation[model.ObjectRef](g, "findings", model.Finding.Compare,
			func(a, b model.Finding) bool { return a == b }),
		Members: incremental.NewRelation[model.ObjectRef](g, "members", strings.Compare,
			func(a, b string) bool { return a == b }),
		TrustDomains: incremental.NewRelation[struct{}](g, "trust domains", slices.Compare[[]string],
			slices.Equal[[]string]),
		states: map[string]stateRelation{},
	}
}

func meshOrigin(m model.Mesh) model.Origin               { return m.Origin }
func workloadOrigin(w model.Workload) model.Origin       { return w.Origin }
func serviceOrigin(s model.Service) model.Origin         { return s.Origin }
func routerOrigin(r model.Router) model.Origin           { return r.Origin }
func destinationOrigin(d model.Destination) model.Origin { return d.Origin }
func groupOrigin(g model.ServiceGroup) model.Origin      { return g.Origin }

func byAge[K comparable, V any](g *incremental.Graph, name string,
	origin func(V) model.Origin) *incremental.Relation[K, V] {
	return incremental.NewRelation[K](g, name, func(a, b V) int { return origin(a).CompareAge(origin(b)) }, deepEqual[V])
}

func compareEndpoints(a, b model.Endpoint) int { return a.Compare(b) }

func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }
