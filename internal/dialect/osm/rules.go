package osm

import (
	"cmp"
	"net/netip"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
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

	namespaces *incremental.Relation[types.NamespacedName, *corev1.Namespace]
	// meshNames has the member namespaces of each mesh.
	meshNames *incremental.Relation[string, model.Origin]
	settings  *incremental.Relation[allKey, meshSettings]
	// keptConfigs are copies of the MeshConfig.
	keptConfigs *incremental.Relation[allKey, *config.MeshConfig]

	// activeRoots are the MeshRootCertificates with the role active.
	activeRoots *incremental.Relation[allKey, model.Origin]

	// accounts are the ServiceAccounts of members, whose objects may be unknown.
	accounts *incremental.Relation[types.NamespacedName, model.Origin]
	// selectors are the Services by what they select.
	selectors *incremental.Relation[selectorIndex, selectingService]
	// used has an entry for each pod with a port, listened a single one.
	used     *incremental.Relation[portUse, struct{}]
	listened *incremental.Relation[types.NamespacedName, portUse]
	// behind has an entry for each pod of a Service with an identity, identities a single one.
	behind     *incremental.Relation[serviceAccount, struct{}]
	identities *incremental.Relation[types.NamespacedName, string]
	// targets has an entry for each pod with a named port, targetPorts a single one.
	targets     *incremental.Relation[namedTarget, struct{}]
	targetPorts *incremental.Relation[types.NamespacedName, namedTarget]
	// shortNames are the namespaces of Services with a name.
	shortNames *incremental.Relation[model.Key, string]
	// sharedNames are names of Services of a namespace that Services of other namespaces have, too.
	sharedNames *incremental.Relation[string, string]

	httpGroups *incremental.Relation[types.NamespacedName, *httpGroup]
	tcpRoutes  *incremental.Relation[types.NamespacedName, *tcpRoute]
	// running has an entry for each pod of an account, populated a single one.
	running, populated *incremental.Relation[types.NamespacedName, struct{}]
	// waiting are the clients that may call an account without pods, by its namespace.
	waiting *incremental.Relation[string, types.NamespacedName]
	// grants are the permissions to call an account, retries those of the clients of a Service.
	grants  *incremental.Relation[types.NamespacedName, grant]
	retries *incremental.Relation[types.NamespacedName, *retry]
	// clientRoutes are the routes of a Service for client groups, clientGroups the groups of an account, and restrictions
	// the ports of a Service of which clients may call some of the pods only.
	clientRoutes *incremental.Relation[types.NamespacedName, *clientRoutes]
	clientGroups *incremental.Relation[types.NamespacedName, string]
	restrictions *incremental.Relation[types.NamespacedName, restriction]
	// splits are the TrafficSplits of a Service.
	splits *incremental.Relation[types.NamespacedName, *trafficSplit]

	// upstreams are the UpstreamTrafficSettings of a Service, upstreamSettings all of them by name.
	upstreams, upstreamSettings *incremental.Relation[types.NamespacedName, *upstreamSetting]
	// egress is what Egress objects let an account reach.
	egress *incremental.Relation[types.NamespacedName, *accountEgress]
	// ingressSources has the Services whose addresses IngressBackends allow, and sourceAddresses their addresses.
	ingressSources  *incremental.Relation[types.NamespacedName, struct{}]
	sourceAddresses *incremental.Relation[types.NamespacedName, netip.Addr]
	// ingressBackends are the IngressBackends for a port of the pods of a Service.
	ingressBackends *incremental.Relation[ingressPort, *ingressBackend]
}

// Rules adds the rules that derive model items and findings from objects.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	r := &rules{dialect: d, out: out, namespaces: store.Of[*corev1.Namespace](objects)}
	r.addRelations(g)
	r.addMeshConfig(g, objects)
	r.addRootCertificates(g, objects)
	r.addMeshes(g)
	r.addServices(g, objects)
	r.addPods(g, objects)
	r.addAccounts(g, objects)
	r.addRoutes(g, objects)
	r.addTrafficTargets(g, objects)
	r.addSplits(g, objects)
	r.addIngressBackends(g, objects)
	r.addEgress(g, objects)
	r.addWithoutEffect(g, objects)
	r.addUpstreamSettings(g, objects)
	r.addRetries(g, objects)
	r.addWaiting(g)
	r.addClientRoutes(g, objects)
}

func (r *rules) addRelations(g *incremental.Graph) {
	byAge := func(a, b model.Origin) int { return a.CompareAge(b) }
	none := func(_, _ struct{}) int { return 0 }
	same := func(_, _ struct{}) bool { return true }
	equalText := func(a, b string) bool { return a == b }
	r.meshNames = incremental.NewRelation[string](g, "member namespaces", byAge, model.Origin.Equal)
	r.settings = incremental.NewRelation[allKey](g, "mesh settings", func(a, b meshSettings) int {
		switch {
		case a.kept == b.kept:
			return a.origin.CompareAge(b.origin)
		case a.kept:
			return 1
		}
		return -1
	}, func(a, b meshSettings) bool {
		return a.permissive == b.permissive && a.egress == b.egress && a.rootCertificates == b.rootCertificates &&
			a.accessControl == b.accessControl && a.kept == b.kept && a.logLevel == b.logLevel && a.origin.Equal(b.origin)
	})
	r.keptConfigs = incremental.NewRelation[allKey](g, "copies of the MeshConfig", func(a, b *config.MeshConfig) int {
		return meshConfigOrigin(a).CompareAge(meshConfigOrigin(b))
	}, func(a, b *config.MeshConfig) bool {
		return meshConfigOrigin(a).Equal(meshConfigOrigin(b)) && equalSettings(a.Spec, b.Spec)
	})
	r.activeRoots = incremental.NewRelation[allKey](g, "active root certificates", byAge, model.Origin.Equal)
	r.accounts = incremental.NewRelation[types.NamespacedName](g, "accounts", byAge, model.Origin.Equal)
	r.selectors = incremental.NewRelation[selectorIndex](g, "selecting services", func(a, b selectingService) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b selectingService) bool { return reflect.DeepEqual(a, b) })
	r.used = incremental.NewRelation[portUse](g, "used ports", none, same)
	r.listened = incremental.NewRelation[types.NamespacedName](g, "listened ports", portUse.compare,
		func(a, b portUse) bool { return a == b })
	r.behind = incremental.NewRelation[serviceAccount](g, "accounts of pods", none, same)
	r.identities = incremental.NewRelation[types.NamespacedName](g, "accounts of services", strings.Compare, equalText)
	r.targets = incremental.NewRelation[namedTarget](g, "named ports of pods", none, same)
	r.targetPorts = incremental.NewRelation[types.NamespacedName](g, "named ports of services", namedTarget.compare,
		func(a, b namedTarget) bool { return a == b })
	r.shortNames = incremental.NewRelation[model.Key](g, "short names", strings.Compare, equalText)
	r.sharedNames = incremental.NewRelation[string](g, "shared names", strings.Compare, equalText)
	r.splits = incremental.NewRelation[types.NamespacedName](g, "traffic splits", func(a, b *trafficSplit) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b *trafficSplit) bool { return reflect.DeepEqual(a, b) })
	r.grants = incremental.NewRelation[types.NamespacedName](g, "grants", grant.compare,
		func(a, b grant) bool { return a.compare(b) == 0 })
	r.retries = incremental.NewRelation[types.NamespacedName](g, "retries of clients", func(a, b *retry) int {
		return cmp.Or(a.origin.CompareAge(b.origin), compareNames(a.client, b.client))
	}, func(a, b *retry) bool { return reflect.DeepEqual(a, b) })
	r.running = incremental.NewRelation[types.NamespacedName](g, "pods of accounts", none, same)
	r.populated = incremental.NewRelation[types.NamespacedName](g, "accounts with pods", none, same)
	r.waiting = incremental.NewRelation[string](g, "clients of accounts without pods", compareNames,
		func(a, b types.NamespacedName) bool { return a == b })
	r.clientRoutes = incremental.NewRelation[types.NamespacedName](g, "routes of client groups", (*clientRoutes).compare,
		func(a, b *clientRoutes) bool { return reflect.DeepEqual(a, b) })
	r.clientGroups = incremental.NewRelation[types.NamespacedName](g, "client groups", strings.Compare, equalText)
	r.restrictions = incremental.NewRelation[types.NamespacedName](g, "restricted ports", restriction.compare,
		func(a, b restriction) bool { return a.compare(b) == 0 })
	for name, into := range map[string]**incremental.Relation[types.NamespacedName, *upstreamSetting]{
		"upstream settings of services": &r.upstreams, "upstream settings": &r.upstreamSettings,
	} {
		*into = incremental.NewRelation[types.NamespacedName](g, name, func(a, b *upstreamSetting) int {
			return a.origin.CompareAge(b.origin)
		}, func(a, b *upstreamSetting) bool { return reflect.DeepEqual(a, b) })
	}
	r.egress = incremental.NewRelation[types.NamespacedName](g, "egress of accounts", func(a, b *accountEgress) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b *accountEgress) bool { return reflect.DeepEqual(a, b) })
	r.ingressSources = incremental.NewRelation[types.NamespacedName](g, "ingress sources", none, same)
	r.sourceAddresses = incremental.NewRelation[types.NamespacedName](g, "ingress addresses", netip.Addr.Compare,
		func(a, b netip.Addr) bool { return a == b })
	r.ingressBackends = incremental.NewRelation[ingressPort](g, "ingress backends", func(a, b *ingressBackend) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b *ingressBackend) bool { return reflect.DeepEqual(a, b) })
	r.httpGroups = incremental.NewRelation[types.NamespacedName](g, "HTTP route groups",
		func(_, _ *httpGroup) int { return 0 }, func(a, b *httpGroup) bool { return reflect.DeepEqual(a, b) })
	r.tcpRoutes = incremental.NewRelation[types.NamespacedName](g, "TCP routes",
		func(_, _ *tcpRoute) int { return 0 }, func(a, b *tcpRoute) bool { return reflect.DeepEqual(a, b) })
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
