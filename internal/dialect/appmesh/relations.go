package appmesh

import (
	"cmp"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// addRelations creates the relations between the rules.
func (r *rules) addRelations(g *incremental.Graph, objects *store.Objects) {
	same := func(a, b string) bool { return a == b }
	r.namespaceNames = incremental.NewRelation[allKey](g, "all namespaces", strings.Compare, same)
	r.meshNames = newNameClaims[string](g, "names of meshes")
	r.meshes = incremental.NewRelation[allKey](g, "all meshes", func(a, b meshEntry) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b meshEntry) bool { return reflect.DeepEqual(a, b) })
	r.owners = incremental.NewRelation[string](g, "owners of meshes", cmp.Compare[meshOwner], func(a, b meshOwner) bool {
		return a == b
	})
	r.states = store.NewStates[namedBy](g, r.out)
	r.nodes = newMeshMembers[*api.VirtualNode](g, objects, api.KindVirtualNode)
	r.services = newMeshMembers[*api.VirtualService](g, objects, api.KindVirtualService)
	r.routers = newMeshMembers[*api.VirtualRouter](g, objects, api.KindVirtualRouter)
	r.gateways = newMeshMembers[*api.VirtualGateway](g, objects, api.KindVirtualGateway)
	r.gatewayRoutes = newMeshMembers[*api.GatewayRoute](g, objects, api.KindGatewayRoute)
	r.servedGateways = incremental.NewRelation[allKey](g, "served gateways", func(a, b servedGateway) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b servedGateway) bool { return reflect.DeepEqual(a, b) })
	r.attachedRoutes = incremental.NewRelation[model.Key](g, "attached routes", func(a, b attachedRoute) int {
		return a.Origin.CompareAge(b.Origin)
	}, func(a, b attachedRoute) bool { return reflect.DeepEqual(a, b) })
	r.backendLists, r.backends, r.nodeWorkloads = newBackendLists(g), newBackends(g), newNodeWorkloads(g)
	r.groups = newNameClaims[types.NamespacedName](g, "groups")
	r.servicesIn = newNameClaims[meshNamespace](g, "services of a namespace")
	r.ports = incremental.NewRelation[model.Key](g, "ports", func(a, b nodePort) int {
		return cmp.Compare(a.index, b.index)
	}, func(a, b nodePort) bool { return reflect.DeepEqual(a, b) })
	r.providers = incremental.NewRelation[model.Key](g, "providers", func(a, b model.Origin) int {
		return a.Object().Compare(b.Object())
	}, model.Origin.Equal)
	r.registry = incremental.NewRelation[cloudMapService](g, "registry", cloudMapQuery.compare,
		func(a, b cloudMapQuery) bool { return reflect.DeepEqual(a, b) })
	r.clusterServices = store.Of[*corev1.Service](objects)
	r.clusterServiceNames = incremental.NewRelation[allKey](g, "names of Services", strings.Compare, same)
	r.servicesKnown = incremental.NewRelation[allKey](g, "Services are known", func(a, b bool) int { return 0 },
		func(a, b bool) bool { return a == b })
	r.selectors = incremental.NewRelation[selectorIndex](g, "selectors", func(a, b selectedWorkload) int {
		return a.origin.CompareAge(b.origin)
	}, func(a, b selectedWorkload) bool { return reflect.DeepEqual(a, b) })
	r.withoutProxy = incremental.NewRelation[model.ObjectRef](g, "pods without proxy", strings.Compare, same)
	r.bypassing = incremental.NewRelation[bypass](g, "pods that bypass their sidecars", strings.Compare, same)
	r.sharedPods = incremental.NewRelation[selectorConflict](g, "shared pods", strings.Compare, same)
	r.otherIdentities = incremental.NewRelation[otherIdentity](g, "other identities", strings.Compare, same)
}

func newNameClaims[K comparable](g *incremental.Graph, name string) *incremental.Relation[K, *nameClaim] {
	return incremental.NewRelation[K](g, name, func(a, b *nameClaim) int { return a.origin.CompareAge(b.origin) },
		func(a, b *nameClaim) bool { return reflect.DeepEqual(a, b) })
}
