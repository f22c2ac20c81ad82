package appmesh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Rules adds the rules that derive model items and findings from objects. An invalid object, or an invalid part of
// one, is omitted and reported; the rest is served.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	newRules(d.Settings, g, objects, out)
}

// Translate returns the model and the findings of objects, both in canonical order. There must be at most one object
// of a kind, namespace and name.
func (d Dialect) Translate(objects []client.Object) (model.Model, []model.Finding) {
	r := d.evaluate(objects)
	return *r.out.Snapshot(), r.out.AllFindings()
}

// evaluate evaluates the rules for objects.
func (d Dialect) evaluate(objects []client.Object) *rules {
	g := incremental.New()
	in := store.NewObjects(g)
	r := newRules(d.Settings, g, in, store.NewModel(g))
	for _, o := range objects {
		in.Set(o)
	}
	g.Run()
	return r
}

// rules are the relations between the objects and the model.
type rules struct {
	settings Settings
	out      *store.Model
	paths    fieldPaths

	namespaces *incremental.Relation[types.NamespacedName, *corev1.Namespace]
	// namespaceNames lists the names of all Namespaces.
	namespaceNames *incremental.Relation[allKey, string]
	// meshNames has the claims of Meshes to awsNames, meshes has all Meshes.
	meshNames *incremental.Relation[string, *nameClaim]
	meshes    *incremental.Relation[allKey, meshEntry]

	// owners are the accounts that own meshes, by awsName.
	owners *incremental.Relation[string, meshOwner]
	// states are what other objects say of the names of objects.
	states *incremental.Relation[model.ObjectRef, namedBy]

	nodes    *meshMembers[*api.VirtualNode]
	services *meshMembers[*api.VirtualService]
	routers  *meshMembers[*api.VirtualRouter]

	gateways      *meshMembers[*api.VirtualGateway]
	gatewayRoutes *meshMembers[*api.GatewayRoute]
	// servedGateways are all served VirtualGateways, attachedRoutes the routes by the key of the gateway's router.
	servedGateways *incremental.Relation[allKey, servedGateway]
	attachedRoutes *incremental.Relation[model.Key, attachedRoute]

	// backendLists are the distinct lists of backends, backends the resolved ones. nodeWorkloads refer to them.
	backendLists  *incremental.Relation[backendsKey, *backendList]
	backends      *incremental.Relation[backendsKey, *resolvedBackends]
	nodeWorkloads *incremental.Relation[model.Key, nodeWorkload]
	// groups are the BackendGroups, servicesIn the served VirtualServices of a mesh in a namespace.
	groups     *incremental.Relation[types.NamespacedName, *nameClaim]
	servicesIn *incremental.Relation[meshNamespace, *nameClaim]
	// ports are the reachable listeners of each VirtualNode.
	ports *incremental.Relation[model.Key, nodePort]
	// providers are the VirtualNodes that are providers of VirtualServices.
	providers *incremental.Relation[model.Key, model.Origin]
	// registry replaces AWS Cloud Map: the queries for each service.
	registry *incremental.Relation[cloudMapService, cloudMapQuery]
	// clusterServices are the Services of the cluster. servicesKnown is true if there are any.
	clusterServices     *incremental.Relation[types.NamespacedName, *corev1.Service]
	clusterServiceNames *incremental.Relation[allKey, string]
	servicesKnown       *incremental.Relation[allKey, bool]
	// selectors are the selectors of VirtualNodes. sharedPods are the names of pods that two VirtualNodes select.
	selectors  *incremental.Relation[selectorIndex, selectedWorkload]
	sharedPods *incremental.Relation[selectorConflict, string]
	// withoutProxy are the names of pods of VirtualGateways that have no proxy.
	withoutProxy *incremental.Relation[model.ObjectRef, string]
	// bypassing are the names of pods that bypass their sidecars.
	bypassing *incremental.Relation[bypass, string]
	// otherIdentities are the names of pods without the identity that their VirtualNode names.
	otherIdentities *incremental.Relation[otherIdentity, string]
}

// allKey is the key of relations with a single list of entries.
type allKey struct{}

func newRules(s Settings, g *incremental.Graph, objects *store.Objects, out *store.Model) *rules {
	r := &rules{settings: s, out: out, paths: fieldPaths{}, namespaces: store.Of[*corev1.Namespace](objects)}
	r.addRelations(g, objects)
	r.addMeshes(g, objects)
	r.addClusterServices(g)
	addClaims(r, g, r.nodes)
	addClaims(r, g, r.services)
	addClaims(r, g, r.routers)
	addClaims(r, g, r.gateways)
	addClaims(r, g, r.gatewayRoutes)
	r.addGroups(g, objects)
	r.addNodes(g)
	r.addBackends(g)
	r.addRouters(g)
	r.addServices(g)
	r.addGateways(g)
	r.addPods(g, objects)
	return r
}

// translator is the part of a rule that reports findings. Rules embed it, with their other handles.
type translator struct {
	settings Settings
	paths    fieldPaths
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *rules) translator(rule *incremental.Rule) translator {
	return translator{r.settings, r.paths, r.out.EmitsFindings(rule)}
}

// nodePort is a reachable listener of a VirtualNode, with its destination.
type nodePort struct {
	*model.Destination
	timeouts model.Timeouts
	index    int // in spec.listeners
}

// report adds a finding with the severity of its code.
func (t *translator) report(at model.Origin, code model.Code, format string, args ...any) {
	t.findings.Emit(model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// warn adds a finding with severity Warning, whatever the default of its code is.
func (t *translator) warn(at model.Origin, code model.Code, format string, args ...any) {
	f := model.NewFinding(at, code, fmt.Sprintf(format, args...))
	f.Severity = model.Warning
	t.findings.Emit(f)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
