package appmesh

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// meshEntry is a Mesh with its name and its parsed selector.
type meshEntry struct {
	precedence
	uid      types.UID
	awsName  string
	selector labels.Selector
	origin   model.Origin
	// notServed is the reason why the mesh is not served, or empty.
	notServed string
}

// addMeshes adds the rules for Meshes and for the namespaces that they select.
func (r *rules) addMeshes(g *incremental.Graph, objects *store.Objects) {
	same := func(a, b meshEntry) bool { return reflect.DeepEqual(a, b) }
	r.meshNames = newNameClaims[string](g, "names of meshes")
	r.meshes = incremental.NewRelation[allKey](g, "all meshes", func(a, b meshEntry) int {
		return a.compare(b.precedence)
	}, same)
	r.namespaceNames = incremental.NewRelation[allKey](g, "all namespaces", strings.Compare, func(a, b string) bool {
		return a == b
	})
	all := store.Of[*api.Mesh](objects)
	incremental.AddRule(g, "claim of Mesh", all,
		func(task *incremental.Evaluation, _ types.NamespacedName, o []*api.Mesh) {
			if name := AWSName(o[0]); nameError(api.KindMesh, name) == "" {
				r.meshNames.Emit(task, name,
					nameClaim{precedence: precedenceOf(o[0]), origin: originOf(api.KindMesh, o[0]), ok: true})
			}
		})
	incremental.AddRule(g, "Mesh", all, func(task *incremental.Evaluation, _ types.NamespacedName, o []*api.Mesh) {
		t := &translator{task, r}
		r.meshes.Emit(task, allKey{}, t.addMesh(o[0]))
	})
	incremental.AddRule(g, "Namespace", r.namespaces,
		func(task *incremental.Evaluation, id types.NamespacedName, _ []*corev1.Namespace) {
			r.namespaceNames.Emit(task, allKey{}, id.Name)
		})
	incremental.AddRule(g, "overlaps of meshes", r.meshes, func(task *incremental.Evaluation, _ allKey, _ []meshEntry) {
		t := &translator{task, r}
		t.reportOverlaps()
	})
}

// addMesh adds a mesh to the model, unless its name is invalid or in use.
func (t *translator) addMesh(o *api.Mesh) meshEntry {
	m := meshEntry{precedence: precedenceOf(o), uid: o.UID, awsName: AWSName(o), origin: originOf(api.KindMesh, o)}
	m.selector = t.compile(o.Spec.NamespaceSelector, m.origin.At("spec.namespaceSelector"))
	t.reportUnsupported(m.origin, unsupportedInMesh(o))
	if m.notServed = nameError(api.KindMesh, m.awsName); m.notServed != "" {
		t.report(m.origin.At("spec.awsName"), model.CodeInvalidField, "%s", m.notServed)
		return m
	}
	if first, _ := t.meshNames.ReadFirst(t.Evaluation, m.awsName); first.precedence != m.precedence {
		m.notServed = first.origin.Object.String() + " has the same awsName"
		t.nameConflict(first.origin, m.origin, m.awsName)
		return m
	}
	t.out.AddMesh(t.Evaluation, t.mesh(m, o))
	t.out.Members.Emit(t.Evaluation, m.origin.Object, m.awsName)
	return m
}

func (t *translator) mesh(m meshEntry, o *api.Mesh) model.Mesh {
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

// meshesSelecting lists the meshes whose selector matches a namespace, from old to young. Of a namespace without an
// object, only the label with its name is known.
func (t *translator) meshesSelecting(namespace string) []meshEntry {
	set := labels.Set{corev1.LabelMetadataName: namespace}
	if ns, known := t.namespaces.ReadFirst(t.Evaluation, types.NamespacedName{Name: namespace}); known {
		set = ns.Labels
	}
	var out []meshEntry
	for _, m := range t.meshes.Read(t.Evaluation, allKey{}) {
		if m.selector.Matches(set) {
			out = append(out, m)
		}
	}
	return out
}

// reportOverlaps reports meshes that select the same namespace, one finding for each pair of meshes. For the older
// one it is a warning, because its members stay members.
func (t *translator) reportOverlaps() {
	shared := map[[2]model.Origin][]string{}
	for _, namespace := range t.namespaceNames.Read(t.Evaluation, allKey{}) {
		found := t.meshesSelecting(namespace)
		for i, older := range found {
			for _, younger := range found[i+1:] {
				pair := [2]model.Origin{older.origin, younger.origin}
				shared[pair] = append(shared[pair], namespace)
			}
		}
	}
	const text = "namespace %s is also selected by %s; new objects in it are denied"
	for pair, namespaces := range shared {
		list := abbreviate(namespaces)
		t.warn(pair[0].At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, pair[1].Object)
		t.report(pair[1].At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, pair[0].Object)
	}
}

// memberOf returns the mesh of a namespaced object, or reports why it has none.
func (t *translator) memberOf(at model.Origin, ref *api.MeshReference) (mesh string, ok bool) {
	mesh, finding := t.meshOf(at, ref)
	if finding != nil {
		t.out.Report(t.Evaluation, *finding)
		return "", false
	}
	t.out.Members.Emit(t.Evaluation, at.Object, mesh)
	return mesh, true
}

// meshOf returns the mesh of a namespaced object, or a finding why it has none. The mesh is the one that admission
// recorded in spec.meshRef. Without a record, or if that Mesh was recreated, it is the Mesh that selects the
// namespace.
func (t *translator) meshOf(at model.Origin, ref *api.MeshReference) (mesh string, finding *model.Finding) {
	if ref == nil {
		return t.selectedMesh(at)
	}
	all := t.meshes.Read(t.Evaluation, allKey{})
	i := slices.IndexFunc(all, func(m meshEntry) bool { return m.precedence.name == ref.Name })
	if i < 0 {
		return "", findingf(at.At("spec.meshRef"), model.CodeMeshMismatch, "Mesh %s does not exist", ref.Name)
	}
	if all[i].uid != ref.UID && !t.selectsNamespace(all[i], at.Object.Namespace) {
		return "", findingf(at.At("spec.meshRef.uid"), model.CodeMeshMismatch,
			"mesh UID mismatch: the object belongs to a Mesh %s with uid %q; the existing one has uid %q and is not the only Mesh that selects namespace %s; "+
				"change the namespaceSelectors so that it is, or delete the object and create it again without spec.meshRef",
			ref.Name, ref.UID, all[i].uid, at.Object.Namespace)
	}
	return all[i].served(at.At("spec.meshRef"))
}

// selectsNamespace reports whether admission would record this mesh for a new object of a namespace. Then objects of
// an earlier Mesh with the same name belong to this one. App Mesh required users to recreate them.
func (t *translator) selectsNamespace(m meshEntry, namespace string) bool {
	found := t.meshesSelecting(namespace)
	return len(found) == 1 && found[0].origin == m.origin
}

func (t *translator) selectedMesh(at model.Origin) (string, *model.Finding) {
	found := t.meshesSelecting(at.Object.Namespace)
	switch len(found) {
	case 0:
		return "", findingf(at, model.CodeNoMesh, "no Mesh selects namespace %s", at.Object.Namespace)
	case 1:
		return found[0].served(at)
	}
	var names []string
	for _, m := range found {
		names = append(names, m.precedence.name)
	}
	slices.Sort(names)
	return "", findingf(at, model.CodeMultipleMeshes, "namespace %s is selected by %d Meshes: %s", at.Object.Namespace,
		len(found), strings.Join(names, ", "))
}

// served returns the name of the mesh, or a finding for a member if the mesh is not served.
func (m meshEntry) served(at model.Origin) (string, *model.Finding) {
	if m.notServed != "" {
		return "", findingf(at, model.CodeNoMesh, "%s is not served: %s", m.origin.Object, m.notServed)
	}
	return m.awsName, nil
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
