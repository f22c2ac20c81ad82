// Package lookup finds what people mean when they name a thing of the mesh.
//
// In: a state of the mesh and a name, of one of several forms. Out: the one thing that it means, or an error that says what there is.
package lookup

import (
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// most is how many names an error lists.
const most = 12

// Workload is a workload as somebody named it.
type Workload struct {
	model.Workload
	// Pod is the instance that was named, if one was.
	Pod *model.Endpoint `json:"pod,omitempty"`
}

// Identity gives that of the pod, or the one that all instances of the workload share. It reports false if there is none.
func (w Workload) Identity(s *engine.State) (model.Identity, bool) {
	if w.Pod != nil {
		return w.Pod.Identity, true
	}
	all := s.Index.Endpoints(w.Key)
	for _, e := range all {
		if e.Identity != all[0].Identity {
			return model.Identity{}, false
		}
	}
	if len(all) == 0 {
		return model.Identity{}, false
	}
	return all[0].Identity, true
}

// FindWorkload finds a workload by its name in the mesh, MESH/NAME, its object as NAMESPACE/NAME or NAME, the id of its sidecars
// (mesh/M/virtualNode/N), or a pod as pod/NAME or pod/NAMESPACE/NAME. namespace is where names without one are looked for first.
func FindWorkload(s *engine.State, name, namespace string) (Workload, error) {
	if pod, is := strings.CutPrefix(name, "pod/"); is {
		return findPod(s, pod, namespace)
	}
	if parts := strings.Split(name, "/"); len(parts) == 4 && parts[0] == "mesh" {
		name = parts[1] + "/" + parts[3]
	}
	all := s.Index.Model.Workloads
	for _, means := range []func(model.Workload) bool{
		func(w model.Workload) bool { return w.Key.String() == name },
		func(w model.Workload) bool { return objectName(w.Origin.Object) == name },
		func(w model.Workload) bool {
			return w.Origin.Object.Namespace == namespace && w.Origin.Object.Name == name
		},
		func(w model.Workload) bool { return w.Name == name },
		func(w model.Workload) bool { return w.Origin.Object.Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(w model.Workload) bool { return !means(w) })
		if len(found) == 1 {
			return Workload{Workload: found[0]}, nil
		}
		if len(found) > 1 {
			return Workload{}, fmt.Errorf("%q may be %s; name one of them so", name, list(found))
		}
	}
	if len(all) == 0 {
		return Workload{}, fmt.Errorf("there is no workload %q; the mesh has no workloads at all", name)
	}
	return Workload{}, fmt.Errorf("there is no workload %q; there are %s", name, list(all))
}

func findPod(s *engine.State, name, namespace string) (Workload, error) {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	for _, e := range s.Index.Model.Endpoints {
		if e.Instance.Namespace == namespace && e.Instance.Name == name {
			w, _ := s.Index.Workload(e.Workload)
			return Workload{Workload: w, Pod: &e}, nil
		}
	}
	for _, o := range s.Objects {
		if o.GetObjectKind().GroupVersionKind().Kind != "Namespace" && o.GetNamespace() == namespace && o.GetName() == name {
			return Workload{}, fmt.Errorf("pod %s/%s is no instance of any workload: no workload that is served selects it", namespace, name)
		}
	}
	return Workload{}, fmt.Errorf("there is no pod %s/%s", namespace, name)
}

// FindService finds a service by its host name, MESH/NAME, or its object as NAMESPACE/NAME or NAME.
func FindService(s *engine.State, name, namespace string) (model.Service, error) {
	all := s.Index.Model.Services
	for _, means := range []func(model.Service) bool{
		func(v model.Service) bool { return v.Key.String() == name },
		func(v model.Service) bool { return objectName(v.Origin.Object) == name },
		func(v model.Service) bool {
			return v.Origin.Object.Namespace == namespace && v.Origin.Object.Name == name
		},
		func(v model.Service) bool { return v.Name == name || slices.Contains(v.Aliases, name) },
		func(v model.Service) bool { return v.Origin.Object.Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(v model.Service) bool { return !means(v) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return model.Service{}, fmt.Errorf("%q may be %s and others; name it by NAMESPACE/NAME", name, found[0].Key)
		}
	}
	var names []string
	for _, v := range all[:min(len(all), most)] {
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		names = []string{"none at all"}
	}
	return model.Service{}, fmt.Errorf("there is no service %q; there are %s", name, strings.Join(names, ", "))
}

// FindMesh finds a mesh by its name or that of its object.
func FindMesh(s *engine.State, name string) (model.Mesh, error) {
	var names []string
	for _, m := range s.Index.Model.Meshes {
		if m.Name == name || m.Origin.Object.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return model.Mesh{}, fmt.Errorf("there is no mesh %q that is served; there are %v", name, names)
}

func objectName(o model.ObjectRef) string { return o.Namespace + "/" + o.Name }

func list(all []model.Workload) string {
	var names []string
	for _, w := range all[:min(len(all), most)] {
		names = append(names, objectName(w.Origin.Object))
	}
	if len(all) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
