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

// meshEntry is a Mesh with its name and selector worked out.
type meshEntry struct {
	precedence
	uid      types.UID
	awsName  string
	selector labels.Selector
	origin   model.Origin
	// fault says why the mesh is not served; empty means that it is.
	fault string
}

// addMeshes adds the rules about Meshes and the namespaces that they select.
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
			if name := AWSName(o[0]); nameFault(api.KindMesh, name) == "" {
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

// addMesh works out a mesh, and adds it to the model unless another one stands in its way.
func (t *translator) addMesh(o *api.Mesh) meshEntry {
	m := meshEntry{precedence: precedenceOf(o), uid: o.UID, awsName: AWSName(o), origin: originOf(api.KindMesh, o)}
	m.selector = t.compile(o.Spec.NamespaceSelector, m.origin.At("spec.namespaceSelector"))
	t.reportUnsupported(m.origin, unsupportedInMesh(o))
	if m.fault = nameFault(api.KindMesh, m.awsName); m.fault != "" {
		t.report(m.origin.At("spec.awsName"), model.CodeInvalidField, "%s", m.fault)
		return m
	}
	if first, _ := t.meshNames.ReadFirst(t.Evaluation, m.awsName); first.precedence != m.precedence {
		m.fault = "it has the awsName of " + first.origin.Object.String()
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
				"%q is neither ALLOW_ALL nor DROP_ALL; DROP_ALL is served", f.Type)
		}
	}
	if out.Egress == model.EgressDeny && !t.settings.NoAWSEgress {
		out.EgressNames = []string{"*.amazonaws.com"} // as App Mesh had it, so that applications go on calling AWS
	}
	if d := o.Spec.MeshServiceDiscovery; d != nil && d.IPPreference != nil {
		switch *d.IPPreference {
		case api.IPv4Only:
			out.Family = model.IPv4Only
		case api.IPv6Only:
			out.Family = model.IPv6Only
		default:
			t.report(m.origin.At("spec.meshServiceDiscovery.ipPreference"), model.CodeInvalidField,
				"%q is neither IPv4_ONLY nor IPv6_ONLY; both families are served", *d.IPPreference)
		}
	}
	return out
}

// meshesSelecting lists the meshes whose selector matches a namespace, oldest first. Of a namespace that is not there,
// only the label that every namespace has is known.
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

// reportOverlaps reports meshes that select the same namespace, one finding for each pair of meshes. The older one goes
// on as it is, since objects that are members already stay members.
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
	const text = "namespace %s is selected by %s too; objects created there are refused"
	for pair, namespaces := range shared {
		list := abbreviate(namespaces)
		t.warn(pair[0].At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, pair[1].Object)
		t.report(pair[1].At("spec.namespaceSelector"), model.CodeMultipleMeshes, text, list, pair[0].Object)
	}
}

// memberOf finds the mesh of a namespaced object, or reports why it has none.
func (t *translator) memberOf(at model.Origin, ref *api.MeshReference) (mesh string, ok bool) {
	mesh, fault := t.meshOf(at, ref)
	if fault != nil {
		t.out.Report(t.Evaluation, *fault)
		return "", false
	}
	t.out.Members.Emit(t.Evaluation, at.Object, mesh)
	return mesh, true
}

// meshOf finds the mesh of a namespaced object, or says why it has none. What admission wrote into spec.meshRef
// decides; without it, and when the mesh was created anew, the namespace does.
func (t *translator) meshOf(at model.Origin, ref *api.MeshReference) (mesh string, fault *model.Finding) {
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
			"mesh UID mismatch: the object belongs to a Mesh %s with uid %q, the one that exists has uid %q, and is not the one that selects namespace %s; "+
				"have its namespaceSelector do so, or delete the object and create it again without spec.meshRef",
			ref.Name, ref.UID, all[i].uid, at.Object.Namespace)
	}
	return all[i].served(at.At("spec.meshRef"))
}

// selectsNamespace says whether admission would write this mesh into what is created in a namespace. Then it takes over
// what belonged to an earlier mesh of its name, as if that were deleted and created again. App Mesh had users do it.
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

// served gives the name of the mesh, or says to an object of it why it is not served.
func (m meshEntry) served(at model.Origin) (string, *model.Finding) {
	if m.fault != "" {
		return "", findingf(at, model.CodeNoMesh, "%s is not served: %s", m.origin.Object, m.fault)
	}
	return m.awsName, nil
}

func findingf(at model.Origin, code model.Code, format string, args ...any) *model.Finding {
	return new(model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// abbreviate lists the first few names and counts the rest.
func abbreviate(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", ..."
}
