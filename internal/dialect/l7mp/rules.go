package l7mp

import (
	"cmp"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// allKey is the key of relations with a single list of entries.
type allKey struct{}

// rules are the relations between the objects and the model.
type rules struct {
	dialect Dialect
	out     *store.Model

	services *incremental.Relation[types.NamespacedName, *corev1.Service]
	// members has an entry for each object of the dialect, and for pods with a proxy: the mesh exists if there is one.
	members *incremental.Relation[allKey, struct{}]

	virtualServices *incremental.Relation[types.NamespacedName, *virtualService]
	routes          *incremental.Relation[types.NamespacedName, *route]
	targets         *incremental.Relation[types.NamespacedName, *cluster]

	// wishes are the fields that name what proxies connect to, and resolved is what a name means.
	wishes   *incremental.Relation[types.NamespacedName, wish]
	resolved *incremental.Relation[types.NamespacedName, *cluster]
	// used are the VirtualServices and Services whose pods are endpoints.
	used *incremental.Relation[service, struct{}]

	// selections are the selectors of all objects.
	selections *incremental.Relation[selectorIndex, *selection]
	// podSets has an entry for pods with a proxy, and one for pods without.
	podSets *incremental.Relation[podSet, bool]
	// groups are the endpoint groups of pods, and listeners the VirtualServices that select them.
	groups    *incremental.Relation[podSet, string]
	listeners *incremental.Relation[podSet, *listener]
	// served are the listeners that have their sockets.
	served *incremental.Relation[servedListener, *listener]
}

// Rules adds the rules that derive model items and findings from objects.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	r := &rules{dialect: d, out: out, services: store.Of[*corev1.Service](objects)}
	r.addRelations(g)
	r.addObjects(g, objects)
	r.addNames(g)
	r.addWorkloads(g)
	r.addPods(g, objects)
}

func (r *rules) addRelations(g *incremental.Graph) {
	none := func(_, _ struct{}) int { return 0 }
	same := func(_, _ struct{}) bool { return true }
	r.members = incremental.NewRelation[allKey](g, "members", none, same)
	r.virtualServices = incremental.NewRelation[types.NamespacedName](g, "virtual services",
		func(_, _ *virtualService) int { return 0 }, equal[*virtualService])
	r.routes = incremental.NewRelation[types.NamespacedName](g, "routes",
		func(_, _ *route) int { return 0 }, equal[*route])
	r.targets = incremental.NewRelation[types.NamespacedName](g, "targets",
		func(_, _ *cluster) int { return 0 }, equal[*cluster])
	r.wishes = incremental.NewRelation[types.NamespacedName](g, "wishes", func(a, b wish) int {
		return cmp.Or(a.origin.CompareAge(b.origin), strings.Compare(a.kind, b.kind))
	}, func(a, b wish) bool { return a.kind == b.kind && a.origin.Equal(b.origin) })
	r.resolved = incremental.NewRelation[types.NamespacedName](g, "resolved names",
		func(_, _ *cluster) int { return 0 }, equal[*cluster])
	r.used = incremental.NewRelation[service](g, "used services", none, same)
	r.selections = incremental.NewRelation[selectorIndex](g, "selections", func(a, b *selection) int {
		return cmp.Or(a.origin.CompareAge(b.origin), strings.Compare(a.group, b.group))
	}, equal[*selection])
	r.podSets = incremental.NewRelation[podSet](g, "sets of pods", func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}, func(a, b bool) bool { return a == b })
	r.groups = incremental.NewRelation[podSet](g, "groups", strings.Compare, func(a, b string) bool { return a == b })
	byAge := func(a, b *listener) int { return a.origin.CompareAge(b.origin) }
	r.listeners = incremental.NewRelation[podSet](g, "listeners", byAge, equal[*listener])
	r.served = incremental.NewRelation[servedListener](g, "served listeners", byAge, equal[*listener])
}

func equal[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

// addObjects adds the rules that read objects.
func (r *rules) addObjects(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "VirtualService")
	incremental.Each(rule, store.Of[*api.VirtualService](objects), &virtualServiceRule{
		r.readsObjects(rule), incremental.Reads(rule, r.services), incremental.Emits(rule, r.virtualServices),
	}, (*virtualServiceRule).evaluate)
	rule = incremental.NewRule(g, "Route")
	incremental.Each(rule, store.Of[*api.Route](objects), &routeRule{
		r.readsObjects(rule), incremental.Reads(rule, r.services), incremental.Emits(rule, r.routes),
	}, (*routeRule).evaluate)
	rule = incremental.NewRule(g, "Target")
	incremental.Each(rule, store.Of[*api.Target](objects), &targetRule{
		r.readsObjects(rule), r.findsServices(rule), incremental.Emits(rule, r.targets),
	}, (*targetRule).evaluate)
}

// meshRule emits the mesh. No object defines it.
type meshRule struct {
	trustDomain string
	meshes      store.Output[string, model.Mesh]
}

func (r *meshRule) evaluate(_ allKey, _ []struct{}) {
	r.meshes.Emit(model.Mesh{Name: mesh, TrustDomain: r.trustDomain, Egress: model.EgressAllow})
}

// objectRule is the common part of the rules that read objects.
type objectRule struct {
	members      *incremental.Emitter[allKey, struct{}]
	meshes       *incremental.Emitter[model.ObjectRef, string]
	wishes       *incremental.Emitter[types.NamespacedName, wish]
	selections   *incremental.Emitter[selectorIndex, *selection]
	destinations store.Output[model.Key, model.Destination]
	findings     store.Output[model.ObjectRef, model.Finding]
}

func (r *rules) readsObjects(rule *incremental.Rule) objectRule {
	return objectRule{
		incremental.Emits(rule, r.members), incremental.Emits(rule, r.out.Members), incremental.Emits(rule, r.wishes),
		incremental.Emits(rule, r.selections), r.out.EmitsDestinations(rule), r.out.EmitsFindings(rule),
	}
}

// emit emits what the object of a parser is besides its kind.
func (r *objectRule) emit(p *parser, selections []selection, inline []inlineCluster) {
	r.members.Emit(allKey{}, struct{}{})
	r.meshes.Emit(p.at.Object(), mesh)
	for _, s := range selections {
		for _, key := range s.index {
			r.selections.Emit(key, &s)
		}
	}
	for _, c := range inline {
		if c.usable {
			r.destinations.Emit(c.destination(c.name))
		}
	}
	for _, f := range model.SortFindings(p.findings) {
		r.findings.Emit(f)
	}
}

// emitWishes emits the names in a route; nil for none.
func (r *objectRule) emitWishes(of *route) {
	if of == nil {
		return
	}
	for _, h := range of.hops() {
		if h.cluster == nil {
			r.wishes.Emit(h.NamespacedName, wish{h.kind, h.origin})
		}
	}
}

type virtualServiceRule struct {
	objectRule
	services        *incremental.Reader[types.NamespacedName, *corev1.Service]
	virtualServices *incremental.Emitter[types.NamespacedName, *virtualService]
}

func (r *virtualServiceRule) evaluate(name types.NamespacedName, all []*api.VirtualService) {
	p := newParser(api.KindVirtualService, all[0], r.services.ReadFirst)
	v, selections, inline := p.virtualService(all[0])
	r.virtualServices.Emit(name, v)
	for _, one := range v.rules {
		r.emitWishes(one.route)
	}
	r.emit(p, selections, inline)
}

type routeRule struct {
	objectRule
	services *incremental.Reader[types.NamespacedName, *corev1.Service]
	routes   *incremental.Emitter[types.NamespacedName, *route]
}

func (r *routeRule) evaluate(name types.NamespacedName, all []*api.Route) {
	p := newParser(api.KindRoute, all[0], r.services.ReadFirst)
	inline := &inlineClusters{prefix: "route/" + name.String()}
	of := p.route(&all[0].Spec, "spec", inline)
	r.routes.Emit(name, of)
	r.emitWishes(of)
	r.emit(p, inline.selections, inline.clusters)
}

type targetRule struct {
	objectRule
	services
	targets *incremental.Emitter[types.NamespacedName, *cluster]
}

func (r *targetRule) evaluate(name types.NamespacedName, all []*api.Target) {
	t := all[0]
	p := newParser(api.KindTarget, t, r.services.services.ReadFirst)
	c, selections := p.cluster(t.Spec.Cluster, t.Spec.LinkedVirtualService, "target/"+name.String(), "spec.cluster",
		func(ref reference) (*cluster, bool) { return r.find(ref.NamespacedName) })
	c.origin = p.at
	if t.Spec.Selector != nil {
		// The selector says only which proxies know the Target: also those of other namespaces.
		c.placed = p.selector(t.Spec.Selector, "", "spec.selector")
	}
	r.targets.Emit(name, c)
	r.emit(p, selections, nil)
}
