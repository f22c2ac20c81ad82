package lookup

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// FindRouter finds a router by its name in the mesh, MESH/NAME, or its object as NAMESPACE/NAME or NAME. Those that VirtualNodes have
// of their own are found by their object's name too.
func FindRouter(s *engine.State, name, namespace string) (model.Router, error) {
	all := s.Index.Model.Routers
	for _, means := range []func(model.Router) bool{
		func(r model.Router) bool { return r.Key.String() == name },
		func(r model.Router) bool { return objectName(r.Origin.Object) == name },
		func(r model.Router) bool {
			return r.Origin.Object.Namespace == namespace && r.Origin.Object.Name == name
		},
		func(r model.Router) bool { return r.Name == name },
		func(r model.Router) bool { return r.Origin.Object.Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(r model.Router) bool { return !means(r) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return model.Router{}, fmt.Errorf("%q may be %s and others; name it by NAMESPACE/NAME", name, found[0].Key)
		}
	}
	var names []string
	for _, r := range all[:min(len(all), most)] {
		names = append(names, objectName(r.Origin.Object))
	}
	if len(names) == 0 {
		names = []string{"none at all"}
	}
	return model.Router{}, fmt.Errorf("there is no router %q; there are %s", name, strings.Join(names, ", "))
}

// FindObject finds an object of a kind that a dialect reads, whether or not it is served, as NAMESPACE/NAME or NAME. The kind is written as in manifests.
func FindObject(s *engine.State, kind, name, namespace string) (client.Object, bool) {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	for _, o := range s.Objects {
		if KindOf(o) == kind && o.GetName() == name && (o.GetNamespace() == namespace || o.GetNamespace() == "") {
			return o, true
		}
	}
	return nil, false
}

// Served tells whether an object is a workload, a service, a router or a mesh.
func Served(s *engine.State, o client.Object) bool {
	ref := model.ObjectRef{Kind: KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
	m := s.Index.Model
	return slices.ContainsFunc(m.Workloads, func(w model.Workload) bool { return w.Origin.Object == ref }) ||
		slices.ContainsFunc(m.Services, func(v model.Service) bool { return v.Origin.Object == ref }) ||
		slices.ContainsFunc(m.Routers, func(r model.Router) bool { return r.Origin.Object == ref }) ||
		slices.ContainsFunc(m.Meshes, func(mesh model.Mesh) bool { return mesh.Origin.Object == ref })
}

// KindOf gives the kind of an object of a typed client, which leaves the field of that name empty.
func KindOf(o client.Object) string { return reflect.TypeOf(o).Elem().Name() }
