package appmesh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// Rules adds the rules of the dialect: from objects to the items of the model, and findings. A bad object, or a bad
// part of one, is left out and reported; the rest is served.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	newRules(d.Settings, g, objects, out)
}

// Translate turns objects into the part of the model that they mean, in canonical order, and findings about them, in
// canonical order. There must be at most one object of a kind, namespace and name.
func (d Dialect) Translate(objects []client.Object) (model.Model, []model.Finding) {
	r := d.evaluate(objects)
	return *r.out.Snapshot(), r.out.AllFindings()
}

// evaluate applies the rules to objects.
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

// rules are the relations between objects and model.
type rules struct {
	settings Settings
	out      *store.Model

	namespaces *incremental.Relation[types.NamespacedName, *corev1.Namespace]
	// namespaceNames lists the names of all Namespaces.
	namespaceNames *incremental.Relation[allKey, string]
	// meshNames holds the claims of Meshes to awsNames, meshes all Meshes.
	meshNames *incremental.Relation[string, nameClaim]
	meshes    *incremental.Relation[allKey, meshEntry]

	nodes    *meshMembers[*api.VirtualNode]
	services *meshMembers[*api.VirtualService]
	routers  *meshMembers[*api.VirtualRouter]
	// ports are the ways to reach each VirtualNode.
	ports *incremental.Relation[model.Key, nodePort]
	// providers are the VirtualNodes that provide services by themselves.
	providers *incremental.Relation[model.Key, model.Origin]
	// registry stands in for AWS Cloud Map: the groups of endpoints asked for, by the service that they are a part of.
	registry *incremental.Relation[cloudMapService, cloudMapQuery]
	// clusterServices are the Services of the cluster. servicesKnown is true if there are any.
	clusterServices     *incremental.Relation[types.NamespacedName, *corev1.Service]
	clusterServiceNames *incremental.Relation[allKey, string]
	servicesKnown       *incremental.Relation[allKey, bool]
	// selectors are those of VirtualNodes; sharedPods the names of pods that two of them select.
	selectors  *incremental.Relation[selectorIndex, selectedNode]
	sharedPods *incremental.Relation[selectorConflict, string]
}

// allKey is the key of relations whose entries are always looked at together.
type allKey struct{}

func newRules(s Settings, g *incremental.Graph, objects *store.Objects, out *store.Model) *rules {
	r := &rules{settings: s, out: out, namespaces: store.Of[*corev1.Namespace](objects)}
	r.addMeshes(g, objects)
	r.addClusterServices(g, objects)
	r.nodes = newMeshMembers[*api.VirtualNode](r, g, objects, api.KindVirtualNode)
	r.services = newMeshMembers[*api.VirtualService](r, g, objects, api.KindVirtualService)
	r.routers = newMeshMembers[*api.VirtualRouter](r, g, objects, api.KindVirtualRouter)
	addUnsupportedKind[*api.VirtualGateway](r, g, objects, api.KindVirtualGateway)
	addUnsupportedKind[*api.GatewayRoute](r, g, objects, api.KindGatewayRoute)
	addUnsupportedKind[*api.BackendGroup](r, g, objects, api.KindBackendGroup)
	r.addNodes(g)
	r.routers.each(r, g, (*translator).virtualRouter)
	r.addServices(g)
	r.addPods(g, objects)
	return r
}

// translator is one evaluation of a rule.
type translator struct {
	*incremental.Evaluation
	*rules
}

// nodePort is a listener of a VirtualNode as others see it.
type nodePort struct {
	model.Destination
	timeouts model.Timeouts
	index    int // among the listeners, as they are written
}

// report notes a finding with the severity of its code.
func (t *translator) report(at model.Origin, code model.Code, format string, args ...any) {
	t.out.Report(t.Evaluation, model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// warn notes a finding that leaves the object served as it is, whatever the code means for others.
func (t *translator) warn(at model.Origin, code model.Code, format string, args ...any) {
	f := model.NewFinding(at, code, fmt.Sprintf(format, args...))
	f.Severity = model.Warning
	t.out.Report(t.Evaluation, f)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
