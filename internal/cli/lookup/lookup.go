// Package lookup finds mesh items and objects by name.
//
// In: the state of the mesh, and a name in one of several forms. Out: one mesh item, or an error that lists candidates.
package lookup

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

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

// FindWorkload finds a workload by its name in the mesh, MESH/NAME, the name of its object as NAMESPACE/NAME, NAME,
// KIND.GROUP/NAME or KIND.GROUP/NAMESPACE/NAME, the node ID of its sidecars, or a pod as pod/NAME or
// pod/NAMESPACE/NAME. namespace has precedence for names without a namespace.
func FindWorkload(s *engine.State, name, namespace string) (Workload, error) {
	if pod, is := strings.CutPrefix(name, "pod/"); is {
		return findPod(s, pod, namespace)
	}
	var all []item
	for _, w := range s.Index.Model.Workloads {
		i := item{key: w.Key, object: w.Origin.Object(), listed: objectName(w.Origin.Object())}
		if w.NodeID != "" {
			i.names = []string{w.NodeID}
		}
		all = append(all, i)
	}
	i, err := find(all, "workload", name, namespace)
	if err != nil {
		return Workload{}, err
	}
	return Workload{Workload: s.Index.Model.Workloads[i]}, nil
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

// FindService finds a service by its host name, MESH/NAME, or the name of its object as FindWorkload does.
func FindService(s *engine.State, name, namespace string) (model.Service, error) {
	var all []item
	for _, v := range s.Index.Model.Services {
		all = append(all, item{v.Key, v.Origin.Object(), v.HostNames(), v.Name})
	}
	i, err := find(all, "service", name, namespace)
	if err != nil {
		return model.Service{}, err
	}
	return s.Index.Model.Services[i], nil
}

// FindMesh finds a mesh by its name, or by the name of its object as NAME or KIND.GROUP/NAME.
func FindMesh(s *engine.State, name string) (model.Mesh, error) {
	var names []string
	var all []item
	for _, m := range s.Index.Model.Meshes {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
		all = append(all, item{key: model.Key{Name: m.Name}, object: m.Origin.Object()})
	}
	i, err := find(all, "mesh", name, "")
	switch {
	case IsAmbiguous(err):
		return model.Mesh{}, err
	case err != nil:
		return model.Mesh{}, fmt.Errorf("mesh %q not found, or not served; served meshes are %v", name, names)
	}
	return s.Index.Model.Meshes[i], nil
}
