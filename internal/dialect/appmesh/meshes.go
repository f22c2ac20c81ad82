package appmesh

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// meshEntry is a Mesh with its name and its parsed selector.
type meshEntry struct {
	uid      types.UID
	awsName  string
	selector labels.Selector
	services serviceNamespaces
	origin   model.Origin
	// notServed is the reason why the mesh is not served, or empty.
	notServed string
}

// addMeshes adds the rules for Meshes and for the namespaces that they select.
func (r *rules) addMeshes(g *incremental.Graph, objects *store.Objects) {
	all := store.Of[*api.Mesh](objects)
	rule := incremental.NewRule(g, "claim of Mesh")
	incremental.Each(rule, all, incremental.Emits(rule, r.meshNames),
		func(names *incremental.Emitter[string, *nameClaim], _ types.NamespacedName, o []*api.Mesh) {
			if name := AWSName(o[0]); nameError(api.KindMesh, name) == "" {
				names.Emit(name, &nameClaim{origin: originOf(api.KindMesh, o[0]), ok: true})
			}
		})
	rule = incremental.NewRule(g, "Mesh")
	incremental.Each(rule, all, &meshRule{
		translator: r.translator(rule), meshNames: incremental.Reads(rule, r.meshNames),
		served: r.out.EmitsMeshes(rule), members: r.emitsMembers(rule),
		meshes: incremental.Emits(rule, r.meshes), owners: incremental.Emits(rule, r.owners),
	}, (*meshRule).evaluate)
	rule = incremental.NewRule(g, "Namespace")
	incremental.Each(rule, r.namespaces, incremental.Emits(rule, r.namespaceNames),
		func(names *incremental.Emitter[allKey, string], id types.NamespacedName, _ []*corev1.Namespace) {
			names.Emit(allKey{}, id.Name)
		})
	rule = incremental.NewRule(g, "overlaps of meshes")
	incremental.Each(rule, r.meshes, &overlapRule{r.readsMembership(rule), incremental.Reads(rule, r.namespaceNames)},
		(*overlapRule).evaluate)
}

// meshRule adds a Mesh to the model.
type meshRule struct {
	translator
	meshNames *incremental.Reader[string, *nameClaim]
	served    store.Output[string, model.Mesh]
	members   members
	meshes    *incremental.Emitter[allKey, meshEntry]
	owners    *incremental.Emitter[string, meshOwner]
}

func (t *meshRule) evaluate(_ types.NamespacedName, o []*api.Mesh) {
	t.meshes.Emit(allKey{}, t.addMesh(o[0]))
}

// addMesh adds a mesh to the model, unless its name is invalid or in use.
func (t *meshRule) addMesh(o *api.Mesh) meshEntry {
	m := meshEntry{uid: o.UID, awsName: AWSName(o), origin: originOf(api.KindMesh, o)}
	m.selector = t.compile(o.Spec.NamespaceSelector, m.origin.At("spec.namespaceSelector"))
	var err error
	if m.services, err = parseServiceNamespaces(o.Annotations[serviceNamespacesAnnotation]); err != nil {
		t.report(m.origin.At("metadata.annotations"), model.CodeInvalidField, "%s", err)
	}
	if m.notServed = nameError(api.KindMesh, m.awsName); m.notServed != "" {
		t.report(m.origin.At("spec.awsName"), model.CodeInvalidField, "%s", m.notServed)
		return m
	}
	if first, _ := t.meshNames.ReadFirst(m.awsName); !first.origin.Equal(m.origin) {
		m.notServed = first.origin.Object().String() + " has the same awsName"
		t.nameConflict(first.origin, m.origin, m.awsName)
		return m
	}
	t.served.Emit(t.mesh(m, o))
	owner := t.owner(m.origin, o)
	if owner != "" {
		t.owners.Emit(m.awsName, owner)
	}
	t.members.emit(m.origin, m.awsName, owner)
	return m
}

func (t *meshRule) mesh(m meshEntry, o *api.Mesh) model.Mesh {
	out := model.Mesh{
		Name: m.awsName, TrustDomain: t.settings.trustDomain(), Egress: model.EgressDeny, Origin: m.origin,
	}
	if f := o.Spec.EgressFilter; f != nil {
		switch f.Type {
		case api.EgressAllowAll:
			out.Egress = model.EgressAllow
		case api.EgressDropAll:
		default:
			t.report(m.origin.At("spec.egressFilter.type"), model.CodeInvalidField,
				"%q is neither ALLOW_ALL nor DROP_ALL; DROP_ALL is used", f.Type)
		}
	}
	if out.Egress == model.EgressDeny && !t.settings.NoAWSEgress {
		out.EgressNames = []string{"*.amazonaws.com"} // as in App Mesh, so that applications can call AWS
	}
	out.AnyAddress = t.settings.AnyAddress
	if d := o.Spec.MeshServiceDiscovery; d != nil && d.IPPreference != nil {
		switch *d.IPPreference {
		case api.IPv4Only:
			out.Family = model.IPv4Only
		case api.IPv6Only:
			out.Family = model.IPv6Only
		default:
			t.report(m.origin.At("spec.meshServiceDiscovery.ipPreference"), model.CodeInvalidField,
				"%q is neither IPv4_ONLY nor IPv6_ONLY; both families are used", *d.IPPreference)
		}
	}
	return out
}

// overlapRule reports meshes that select the same namespace, one finding for each pair of meshes. For the older one it
// is a warning, because its members stay members.
type overlapRule struct {
	membership
	namespaceNames *incremental.Reader[allKey, string]
}

func (t *overlapRule) evaluate(allKey, []meshEntry) {
	type overlap struct {
		older, younger model.Origin
		namespaces     []string
	}
	shared := map[[2]model.ObjectRef]*overlap{}
	for _, namespace := range t.namespaceNames.Read(allKey{}) {
		found := t.meshesSelecting(namespace)
		for i, older := range found {
			for _, younger := range found[i+1:] {
				pair := [2]model.ObjectRef{older.origin.Object(), younger.origin.Object()}
				if shared[pair] == nil {
					shared[pair] = &overlap{older: older.origin, younger: younger.origin}
				}
				shared[pair].namespaces = append(shared[pair].namespaces, namespace)
			}
		}
	}
	const text = "namespace %s is also selected by %s; new objects in it are denied"
	for _, o := range shared {
		list := abbreviate(o.namespaces)
		t.warn(o.older.At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, o.younger.Object())
		t.report(o.younger.At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, o.older.Object())
	}
}

func findingf(at model.Origin, code model.Code, format string, args ...any) *model.Finding {
	return new(model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// abbreviate joins the first names, and adds "..." if there are more.
func abbreviate(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", ..."
}
