package appmesh

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// meshMember is a Mesh with its name and selector worked out.
type meshMember struct {
	object   *api.Mesh
	name     string
	selector labels.Selector
	origin   model.Origin
	// fault says why the mesh is not served; empty means that it is.
	fault string
}

// realm works out the meshes, and reports those that stand in each other's way.
func (t *translator) realm() {
	holders := map[string]*meshMember{}
	for _, o := range t.in.meshes {
		m := &meshMember{object: o, name: AWSName(o), origin: originOf(api.KindMesh, o)}
		m.selector = t.compile(o.Spec.NamespaceSelector, m.origin.At("spec.namespaceSelector"))
		t.meshes = append(t.meshes, m)
		t.unhonoured(m.origin, unhonouredInMesh(o))
		if m.fault = nameFault(api.KindMesh, m.name); m.fault != "" {
			t.report(m.origin.At("spec.awsName"), model.CodeInvalidField, "%s", m.fault)
			continue
		}
		if first := holders[m.name]; first != nil {
			m.fault = "it has the awsName of " + first.origin.Object.String()
			t.nameConflict(first.origin, m.origin, m.name)
			continue
		}
		holders[m.name] = m
		t.out.Meshes = append(t.out.Meshes, t.mesh(m))
	}
	t.overlaps()
}

func (t *translator) mesh(m *meshMember) model.Mesh {
	out := model.Mesh{Name: m.name, TrustDomain: t.settings.trustDomain(), Egress: model.EgressDeny, Origin: m.origin}
	if f := m.object.Spec.EgressFilter; f != nil {
		switch f.Type {
		case api.EgressAllowAll:
			out.Egress = model.EgressAllow
		case api.EgressDropAll:
		default:
			t.report(m.origin.At("spec.egressFilter.type"), model.CodeInvalidField, "%q is neither ALLOW_ALL nor DROP_ALL; DROP_ALL is served", f.Type)
		}
	}
	if out.Egress == model.EgressDeny && !t.settings.NoAWSEgress {
		out.EgressNames = []string{"*.amazonaws.com"} // as App Mesh had it, so that applications go on calling AWS
	}
	if d := m.object.Spec.MeshServiceDiscovery; d != nil && d.IPPreference != nil {
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

// selecting lists the meshes whose selector matches a namespace, oldest first.
func (t *translator) selecting(namespace string) []*meshMember {
	set := labels.Set(t.in.namespaceLabels(namespace))
	var out []*meshMember
	for _, m := range t.meshes {
		if m.selector.Matches(set) {
			out = append(out, m)
		}
	}
	return out
}

// overlaps reports meshes that select the same namespace, one finding for each pair of meshes. The older one goes on
// as it is, since objects that are members already stay members.
func (t *translator) overlaps() {
	shared := map[[2]*meshMember][]string{}
	for _, namespace := range slices.Sorted(maps.Keys(t.in.namespaces)) {
		found := t.selecting(namespace)
		for i, older := range found {
			for _, younger := range found[i+1:] {
				pair := [2]*meshMember{older, younger}
				shared[pair] = append(shared[pair], namespace)
			}
		}
	}
	const text = "namespace %s is selected by %s too; objects created there are refused"
	for pair, namespaces := range shared {
		list := abbreviate(namespaces)
		t.warn(pair[0].origin.At("spec.namespaceSelector"), model.CodeManyMeshes, text, list, pair[1].origin.Object)
		t.report(pair[1].origin.At("spec.namespaceSelector"), model.CodeManyMeshes, text, list, pair[0].origin.Object)
	}
}

// meshOf finds the mesh of a namespaced object, or reports why it has none. What admission wrote into spec.meshRef
// decides; without it, the namespace does.
func (t *translator) meshOf(at model.Origin, ref *api.MeshReference) (mesh string, ok bool) {
	if ref == nil {
		return t.selectedMesh(at)
	}
	i := slices.IndexFunc(t.meshes, func(m *meshMember) bool { return m.object.Name == ref.Name })
	if i < 0 {
		t.report(at.At("spec.meshRef"), model.CodeMeshMismatch, "Mesh %s does not exist", ref.Name)
		return "", false
	}
	m := t.meshes[i]
	if m.object.UID != ref.UID {
		t.report(at.At("spec.meshRef.uid"), model.CodeMeshMismatch,
			"mesh UID mismatch: the object belongs to a Mesh %s with uid %q, the one that exists has uid %q; delete the object and create it again without spec.meshRef", ref.Name, ref.UID, m.object.UID)
		return "", false
	}
	return t.servedMesh(at.At("spec.meshRef"), m)
}

func (t *translator) selectedMesh(at model.Origin) (string, bool) {
	found := t.selecting(at.Object.Namespace)
	switch len(found) {
	case 0:
		t.report(at, model.CodeNoMesh, "no Mesh selects namespace %s", at.Object.Namespace)
		return "", false
	case 1:
		return t.servedMesh(at, found[0])
	}
	var names []string
	for _, m := range found {
		names = append(names, m.object.Name)
	}
	slices.Sort(names)
	t.report(at, model.CodeManyMeshes, "namespace %s is selected by %d Meshes: %s", at.Object.Namespace, len(found), strings.Join(names, ", "))
	return "", false
}

func (t *translator) servedMesh(at model.Origin, m *meshMember) (string, bool) {
	if m.fault != "" {
		t.report(at, model.CodeNoMesh, "%s is not served: %s", m.origin.Object, m.fault)
		return "", false
	}
	return m.name, true
}

// abbreviate lists the first few names and counts the rest.
func abbreviate(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + ", ..."
}
