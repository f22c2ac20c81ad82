package store

import (
	"fmt"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// claimRule reports objects of several dialects that claim the same name. The older object is served. Within a dialect,
// the dialect reports conflicts.
type claimRule[K comparable, V any] struct {
	// describe returns the name of an item, with its type.
	describe func(K) string
	origin   func(V) model.Origin
	claims   *incremental.Reader[K, V]
	findings Output[model.ObjectRef, model.Finding]
}

// addClaimRules adds a rule for each type of items that have names.
func (m *Mesh) addClaimRules(g *incremental.Graph) {
	addClaimRule(m, g, m.Meshes, func(name string) string { return "mesh " + name }, meshOrigin)
	addClaimRule(m, g, m.Workloads, describe("workload"), workloadOrigin)
	addClaimRule(m, g, m.Services, describe("service"), serviceOrigin)
	addClaimRule(m, g, m.Routers, describe("router"), routerOrigin)
	addClaimRule(m, g, m.Destinations, describe("destination"), destinationOrigin)
	addClaimRule(m, g, m.ServiceGroups, describe("group"), groupOrigin)
}

func describe(what string) func(model.Key) string {
	return func(key model.Key) string { return fmt.Sprintf("%s %s of mesh %s", what, key.Name, key.Mesh) }
}

func addClaimRule[K comparable, V any](m *Mesh, g *incremental.Graph, items *incremental.Relation[K, V],
	describe func(K) string, origin func(V) model.Origin) {
	r := incremental.NewRule(g, "claims of "+items.Name())
	incremental.EachSeveral(r, items, &claimRule[K, V]{describe, origin, incremental.Reads(r, items), m.EmitsFindings(r)},
		(*claimRule[K, V]).evaluate)
}

func (r *claimRule[K, V]) evaluate(key K, all []V) {
	owners := r.claims.Owners(key)
	older := r.origin(all[0])
	for i, item := range all {
		if owners[i] == owners[0] {
			continue
		}
		younger := r.origin(item)
		first := model.NewFinding(older, model.CodeNameConflict,
			fmt.Sprintf("%s also defines the %s; this object is older and is served", younger.Object().Beside(older.Object()), r.describe(key)))
		first.Severity = model.Warning
		r.report(first)
		r.report(model.NewFinding(younger, model.CodeNameConflict,
			fmt.Sprintf("%s also defines the %s; that object is older and is served", older.Object().Beside(younger.Object()), r.describe(key))))
	}
}

// report omits findings about items without an object.
func (r *claimRule[K, V]) report(f model.Finding) {
	if f.Object != (model.ObjectRef{}) {
		r.findings.Emit(f)
	}
}
