// Package lookup finds mesh items and objects by name.
//
// In: the state of the mesh, and a name in one of several forms. Out: one mesh item, or an error that lists candidates.
package lookup

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// maxListed is the maximum number of names in an error.
const maxListed = 12

// Workload is the result of a lookup.
type Workload struct {
	model.Workload
	// Pod is set if the name is the name of a pod. DNS is then the mode of the pod.
	Pod *model.Endpoint `json:"pod,omitempty"`
}

// Identity returns the identity of the pod, or the common identity of all instances. It returns false if instances have
// different identities, or if there are none.
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

// FindWorkload finds a workload by its name in the mesh, MESH/NAME, the name of its object as NAMESPACE/NAME or NAME,
// the node ID of its sidecars, or a pod as pod/NAME or pod/NAMESPACE/NAME. namespace has
// precedence for names without a namespace.
func FindWorkload(s *engine.State, name, namespace string) (Workload, error) {
	if pod, is := strings.CutPrefix(name, "pod/"); is {
		return findPod(s, pod, namespace)
	}
	all := s.Index.Model.Workloads
	for _, matches := range []func(model.Workload) bool{
		func(w model.Workload) bool { return w.Key.String() == name || w.NodeID != "" && w.NodeID == name },
		func(w model.Workload) bool { return objectName(w.Origin.Object()) == name },
		func(w model.Workload) bool {
			return w.Origin.Object().Namespace == namespace && w.Origin.Object().Name == name
		},
		func(w model.Workload) bool { return w.Name == name },
		func(w model.Workload) bool { return w.Origin.Object().Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(w model.Workload) bool { return !matches(w) })
		if len(found) == 1 {
			return Workload{Workload: found[0]}, nil
		}
		if len(found) > 1 {
			return Workload{}, fmt.Errorf("%q is ambiguous; use one of %s", name, list(found))
		}
	}
	if len(all) == 0 {
		return Workload{}, fmt.Errorf("workload %q not found; the mesh has no workloads", name)
	}
	return Workload{}, fmt.Errorf("workload %q not found; workloads are %s", name, list(all))
}

func findPod(s *engine.State, name, namespace string) (Workload, error) {
	if before, after, qualified := strings.Cut(name, "/"); qualified {
		namespace, name = before, after
	}
	for _, e := range s.Index.Model.Endpoints {
		if e.Instance.Namespace == namespace && e.Instance.Name == name {
			w, _ := s.Index.Workload(e.Workload)
			if withoutNames(s, e.Instance) {
				w.DNS = model.DNSOff
			}
			return Workload{Workload: w, Pod: &e}, nil
		}
	}
	for _, o := range s.Objects {
		if o.GetObjectKind().GroupVersionKind().Kind != "Namespace" && o.GetNamespace() == namespace &&
			o.GetName() == name {
			return Workload{}, fmt.Errorf("pod %s/%s is not part of the mesh: no served workload selects it", namespace,
				name)
		}
	}
	return Workload{}, fmt.Errorf("pod %s/%s not found", namespace, name)
}

// withoutNames reports whether the agent of a pod answers no names, although agents of other pods of its workload may:
// its DNS mode is Off, or the pod is older than the DNS server of the agent.
func withoutNames(s *engine.State, pod model.Instance) bool {
	for _, o := range s.Objects {
		if p, is := o.(*corev1.Pod); is && string(p.UID) == pod.UID {
			mode, set := p.Annotations[sidecar.DNSAnnotation]
			_, injected := p.Labels[sidecar.UUIDLabel]
			return model.DNSMode(mode) == model.DNSOff || injected && !set
		}
	}
	return false
}

// FindService finds a service by its host name, MESH/NAME, or the name of its object as NAMESPACE/NAME or NAME.
func FindService(s *engine.State, name, namespace string) (model.Service, error) {
	all := s.Index.Model.Services
	for _, matches := range []func(model.Service) bool{
		func(v model.Service) bool { return v.Key.String() == name },
		func(v model.Service) bool { return objectName(v.Origin.Object()) == name },
		func(v model.Service) bool {
			return v.Origin.Object().Namespace == namespace && v.Origin.Object().Name == name
		},
		func(v model.Service) bool { return v.Name == name || slices.Contains(v.Aliases, name) },
		func(v model.Service) bool { return v.Origin.Object().Name == name },
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(v model.Service) bool { return !matches(v) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return model.Service{}, fmt.Errorf("%q is ambiguous, for example %s; use NAMESPACE/NAME", name,
				found[0].Key)
		}
	}
	var names []string
	for _, v := range all[:min(len(all), maxListed)] {
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return model.Service{}, fmt.Errorf("service %q not found; services are %s", name, strings.Join(names, ", "))
}

// FindMesh finds a mesh by its name or the name of its object.
func FindMesh(s *engine.State, name string) (model.Mesh, error) {
	var names []string
	for _, m := range s.Index.Model.Meshes {
		if m.Name == name || m.Origin.Object().Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return model.Mesh{}, fmt.Errorf("mesh %q not found, or not served; served meshes are %v", name, names)
}

func objectName(o model.ObjectRef) string { return o.Namespace + "/" + o.Name }

func list(all []model.Workload) string {
	var names []string
	for _, w := range all[:min(len(all), maxListed)] {
		names = append(names, objectName(w.Origin.Object()))
	}
	if len(all) > maxListed {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
