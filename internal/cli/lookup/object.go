package lookup

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// FindRouter finds a router by its name in the mesh, MESH/NAME, or the name of its object as NAMESPACE/NAME or NAME.
// This includes implicit routers of workloads.
func FindRouter(s *engine.State, name, namespace string) (model.Router, error) {
	all := s.Index.Model.Routers
	for _, matches := range []func(model.Router) bool{
		func(r model.Router) bool { return r.Key.String() == name },
		func(r model.Router) bool { return objectName(r.Origin.Object()) == name },
		func(r model.Router) bool {
			return r.Origin.Object().Namespace == namespace && r.Origin.Object().Name == name
		},
		func(r model.Router) bool { return r.Name == name },
		func(r model.Router) bool { return r.Origin.Object().Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(r model.Router) bool { return !matches(r) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return model.Router{}, fmt.Errorf("%q is ambiguous, for example %s; use NAMESPACE/NAME", name, found[0].Key)
		}
	}
	var names []string
	for _, r := range all[:min(len(all), maxListed)] {
		names = append(names, objectName(r.Origin.Object()))
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return model.Router{}, fmt.Errorf("router %q not found; routers are %s", name, strings.Join(names, ", "))
}

// FindObject finds an object of a kind that a dialect reads, by NAMESPACE/NAME or NAME. The object need not be served.
func FindObject(s *engine.State, kind schema.GroupKind, name, namespace string) (client.Object, bool) {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	for _, o := range s.Objects {
		if o.GetName() != name || o.GetNamespace() != namespace && o.GetNamespace() != "" {
			continue
		}
		if ref := dialect.RefOf(o); ref.Group == kind.Group && ref.Kind == kind.Kind {
			return o, true
		}
	}
	return nil, false
}

// Item is the mesh item that an object defines; at most one field is set.
type Item struct {
	Workload *model.Workload
	Service  *model.Service
	Router   *model.Router
	Mesh     *model.Mesh
}

// ItemOf returns the mesh item that an object defines.
func ItemOf(s *engine.State, ref model.ObjectRef) Item {
	var out Item
	m := s.Index.Model
	if i := slices.IndexFunc(m.Workloads, func(w model.Workload) bool { return w.Origin.Object() == ref }); i >= 0 {
		out.Workload = &m.Workloads[i]
	}
	if i := slices.IndexFunc(m.Services, func(v model.Service) bool { return v.Origin.Object() == ref }); i >= 0 {
		out.Service = &m.Services[i]
	}
	if i := slices.IndexFunc(m.Routers, func(r model.Router) bool { return r.Origin.Object() == ref }); i >= 0 {
		out.Router = &m.Routers[i]
	}
	if i := slices.IndexFunc(m.Meshes, func(mesh model.Mesh) bool { return mesh.Origin.Object() == ref }); i >= 0 {
		out.Mesh = &m.Meshes[i]
	}
	return out
}
