package appmesh

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// membership is the part of a rule that finds the meshes of namespaces and objects.
type membership struct {
	translator
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]
	meshes     *incremental.Reader[allKey, meshEntry]
}

func (r *rules) readsMembership(rule *incremental.Rule) membership {
	return membership{r.translator(rule), incremental.Reads(rule, r.namespaces), incremental.Reads(rule, r.meshes)}
}

// memberRule is the part of a rule that records the mesh of each object.
type memberRule struct {
	membership
	owners  *incremental.Reader[string, meshOwner]
	members members
}

func (r *rules) memberRule(rule *incremental.Rule) memberRule {
	return memberRule{
		r.readsMembership(rule), incremental.Reads(rule, r.owners), r.emitsMembers(rule),
	}
}

// members is the part of a rule that emits the mesh of an object, and its owner, which is in the ARNs of its status.
type members struct {
	meshes *incremental.Emitter[model.ObjectRef, string]
	states *incremental.Emitter[model.ObjectRef, namedBy]
}

func (r *rules) emitsMembers(rule *incremental.Rule) members {
	return members{incremental.Emits(rule, r.out.Members), incremental.Emits(rule, r.states)}
}

// emit adds an object of a mesh. Most meshes have no owner. The state of a GatewayRoute comes with its VirtualGateway.
func (m members) emit(at model.Origin, mesh string, owner meshOwner) {
	m.meshes.Emit(at.Object(), mesh)
	if owner != "" && at.Object().Kind != api.KindGatewayRoute {
		m.states.Emit(at.Object(), namedBy{owner: owner})
	}
}

// meshesSelecting lists the meshes whose selector matches a namespace, from old to young. Of a namespace without an
// object, only the label with its name is known.
func (t *membership) meshesSelecting(namespace string) []meshEntry {
	set := labels.Set{corev1.LabelMetadataName: namespace}
	if ns, known := t.namespaces.ReadFirst(types.NamespacedName{Name: namespace}); known {
		set = ns.Labels
	}
	var out []meshEntry
	for _, m := range t.meshes.Read(allKey{}) {
		if m.selector.Matches(set) {
			out = append(out, m)
		}
	}
	return out
}

// memberOf returns the mesh of a namespaced object, or reports why it has none.
func (t *memberRule) memberOf(at model.Origin, ref *api.MeshReference) (mesh string, ok bool) {
	mesh, finding := t.meshOf(at, ref)
	if finding != nil {
		t.findings.Emit(*finding)
		return "", false
	}
	owner, _ := t.owners.ReadFirst(mesh)
	t.members.emit(at, mesh, owner)
	return mesh, true
}

// meshOf returns the mesh of a namespaced object, or a finding why it has none. The mesh is the one that admission
// recorded in spec.meshRef. Without a record, or if that Mesh was recreated, it is the Mesh that selects the
// namespace.
func (t *membership) meshOf(at model.Origin, ref *api.MeshReference) (mesh string, finding *model.Finding) {
	if ref == nil {
		return t.selectedMesh(at)
	}
	all := t.meshes.Read(allKey{})
	i := slices.IndexFunc(all, func(m meshEntry) bool { return m.origin.Object().Name == ref.Name })
	if i < 0 {
		return "", findingf(at.At("spec.meshRef"), model.CodeMeshMismatch, "Mesh %s does not exist", ref.Name)
	}
	if all[i].uid != ref.UID && !t.selectsNamespace(all[i], at.Object().Namespace) {
		return "", findingf(at.At("spec.meshRef.uid"), model.CodeMeshMismatch,
			"mesh UID mismatch: the object belongs to a Mesh %s with uid %q; the existing one has uid %q and is not the only Mesh that selects namespace %s; "+
				"change the namespaceSelectors so that it is, or delete the object and create it again without spec.meshRef",
			ref.Name, ref.UID, all[i].uid, at.Object().Namespace)
	}
	return all[i].served(at.At("spec.meshRef"))
}

// selectsNamespace reports whether admission would record this mesh for a new object of a namespace. Then objects of
// an earlier Mesh with the same name belong to this one. App Mesh required users to recreate them.
func (t *membership) selectsNamespace(m meshEntry, namespace string) bool {
	found := t.meshesSelecting(namespace)
	return len(found) == 1 && found[0].origin.Equal(m.origin)
}

func (t *membership) selectedMesh(at model.Origin) (string, *model.Finding) {
	found := t.meshesSelecting(at.Object().Namespace)
	switch len(found) {
	case 0:
		return "", findingf(at, model.CodeNoMesh, "no Mesh selects namespace %s", at.Object().Namespace)
	case 1:
		return found[0].served(at)
	}
	var names []string
	for _, m := range found {
		names = append(names, m.origin.Object().Name)
	}
	slices.Sort(names)
	return "", findingf(at, model.CodeMultipleMeshes, "namespace %s is selected by %d Meshes: %s", at.Object().Namespace,
		len(found), strings.Join(names, ", "))
}

// served returns the name of the mesh, or a finding for a member if the mesh is not served.
func (m meshEntry) served(at model.Origin) (string, *model.Finding) {
	if m.notServed != "" {
		return "", findingf(at, model.CodeNoMesh, "%s is not served: %s", m.origin.Object(), m.notServed)
	}
	return m.awsName, nil
}
