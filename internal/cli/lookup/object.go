package lookup

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// FindRouter finds a router by its name in the mesh, MESH/NAME, or the name of its object as FindWorkload does. This
// includes implicit routers of workloads.
func FindRouter(s *engine.State, name, namespace string) (model.Router, error) {
	var all []item
	for _, r := range s.Index.Model.Routers {
		all = append(all, item{key: r.Key, object: r.Origin.Object(), listed: objectName(r.Origin.Object())})
	}
	i, err := find(all, "router", name, namespace)
	if err != nil {
		return model.Router{}, err
	}
	return s.Index.Model.Routers[i], nil
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
