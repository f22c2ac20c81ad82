package appmesh

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// everyService is the name in a BackendGroup that stands for all VirtualServices of a namespace.
const everyService = "*"

// meshNamespace is the part of a mesh in a namespace.
type meshNamespace struct{ mesh, namespace string }

// groupRule translates BackendGroups. A VirtualService that joins or leaves a namespace evaluates the groups with all
// its VirtualServices, and no VirtualNode.
type groupRule struct {
	memberRule
	services resolver
	// inNamespace are the served VirtualServices.
	inNamespace *incremental.Reader[meshNamespace, *nameClaim]
	claims      *incremental.Emitter[types.NamespacedName, *nameClaim]
	groups      store.Output[model.Key, model.ServiceGroup]
}

// addGroups adds the rule for BackendGroups.
func (r *rules) addGroups(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, api.KindBackendGroup)
	incremental.Each(rule, store.Of[*api.BackendGroup](objects), &groupRule{
		r.memberRule(rule), r.services.resolver(rule), incremental.Reads(rule, r.servicesIn),
		incremental.Emits(rule, r.groups), r.out.EmitsServiceGroups(rule),
	}, (*groupRule).evaluate)
}

func (t *groupRule) evaluate(id types.NamespacedName, all []*api.BackendGroup) {
	o := all[0]
	if isDeleting(o) {
		return
	}
	c := &nameClaim{key: model.Key{Name: backendGroupName(id)}, origin: originOf(api.KindBackendGroup, o)}
	c.key.Mesh, c.ok = t.memberOf(c.origin, o.Spec.MeshRef)
	t.claims.Emit(id, c)
	if c.ok {
		t.groups.Emit(model.ServiceGroup{
			Key: c.key, Members: t.members(c, o.Spec.VirtualServices), Origin: c.origin,
		})
	}
}

// backendGroupName is the name of a BackendGroup in the model.
func backendGroupName(id types.NamespacedName) string { return id.Name + "_" + id.Namespace }

// members resolves the members of a group, each once.
func (t *groupRule) members(group *nameClaim, refs []api.VirtualServiceReference) []model.Backend {
	whole := map[string]int{} // the namespaces of which all VirtualServices are members
	for i, ref := range refs {
		if id := memberID(group, ref); ref.Name == everyService {
			if _, again := whole[id.Namespace]; !again {
				whole[id.Namespace] = i
			}
		}
	}
	var out []model.Backend
	added, seen := map[string]bool{}, map[types.NamespacedName]int{}
	add := func(service, path string) {
		if service != "" && !added[service] {
			added[service] = true
			out = append(out, model.Backend{Service: service, Path: path})
		}
	}
	for i, ref := range refs {
		id, at := memberID(group, ref), group.origin.At(fmt.Sprintf("spec.virtualservices[%d]", i))
		if first, again := seen[id]; again {
			t.warn(at, model.CodeInvalidField, "has no effect: spec.virtualservices[%d] is the same", first)
			continue
		}
		seen[id] = i
		if ref.Name == everyService {
			t.addNamespace(at, meshNamespace{group.key.Mesh, id.Namespace}, add)
		} else if all, is := whole[id.Namespace]; is {
			t.warn(at, model.CodeInvalidField,
				"has no effect: spec.virtualservices[%d] selects all VirtualServices of namespace %s", all, id.Namespace)
		} else {
			add(t.serviceOf(at, group.key.Mesh, ref), at.Path)
		}
	}
	return out
}

// memberID returns the namespace and name of a member.
func memberID(group *nameClaim, ref api.VirtualServiceReference) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(deref(ref.Namespace), group.origin.Object().Namespace), Name: ref.Name}
}

// addNamespace adds all VirtualServices of a mesh in a namespace.
func (t *groupRule) addNamespace(at model.Origin, in meshNamespace, add func(service, path string)) {
	all := t.inNamespace.Read(in)
	if len(all) == 0 {
		t.warn(at, model.CodeReferenceNotFound, "namespace %s has no VirtualService of mesh %s", in.namespace, in.mesh)
	}
	for _, c := range all {
		add(c.key.Name, at.Path)
	}
}

// serviceOf returns the name of a member, which may not exist yet, or "".
func (t *groupRule) serviceOf(at model.Origin, mesh string, ref api.VirtualServiceReference) string {
	r := serviceReference(at, &ref, nil)
	r.refField = "name"
	if c, found := t.resolve(&t.services, mesh, r); found {
		return c.key.Name
	}
	return t.services.missing(mesh, r)
}

// groupReferences returns the groups of a list of backends, and the errors in it. A group that does not exist is in the
// list, too, so that its creation changes no workload.
func (t backendsRule) groupReferences(list *backendList) (out []model.GroupReference, faults []fault) {
	seen := map[types.NamespacedName]int{}
	for i, ref := range list.groups {
		id := types.NamespacedName{Namespace: cmp.Or(deref(ref.Namespace), list.namespace), Name: ref.Name}
		f := fault{path: fmt.Sprintf("spec.backendGroups[%d]", i)}
		if first, again := seen[id]; again {
			f.code, f.severity = model.CodeInvalidField, model.Warning
			f.text = fmt.Sprintf("has no effect: spec.backendGroups[%d] is the same", first)
			faults = append(faults, f)
			continue
		}
		seen[id] = i
		c, exists := t.groups.ReadFirst(id)
		switch {
		case !exists:
			f.code, f.text = model.CodeReferenceNotFound, fmt.Sprintf("BackendGroup %s does not exist", id)
		case !c.ok:
			f.code, f.text = model.CodeReferenceNotFound, fmt.Sprintf("BackendGroup %s is not served: it has no mesh", id)
		case c.key.Mesh != list.mesh:
			f.code = model.CodeOtherMesh
			f.text = fmt.Sprintf("BackendGroup %s belongs to mesh %s, not to mesh %s", id, c.key.Mesh, list.mesh)
		}
		if f.code != "" {
			faults = append(faults, f)
		}
		if f.code != model.CodeOtherMesh {
			out = append(out, model.GroupReference{Group: backendGroupName(id), Path: f.path})
		}
	}
	return out, faults
}
