package engine

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// State is an immutable copy of the whole mesh.
type State struct {
	// Objects are the objects that dialects read, as they were passed to Compute, ordered by kind, namespace and name.
	// In a copy of an engine's state there are none: it holds only parts of pods.
	Objects []client.Object
	Index   *model.Index
	Views   map[model.Key]*View
	// Classes are the distinct sidecarClasses of each workload's pods, sorted. A pod without the annotation has the
	// empty class.
	Classes map[model.Key][]string
	// Findings are the findings of the dialects and of the views, in canonical order.
	Findings []model.Finding

	pods map[string]store.Role
}

// View is a workload's view.
type View struct {
	*model.View
}

// snapshot copies the current state.
func (s *meshState) snapshot() *State {
	out := &State{
		Index: model.NewIndex(s.mesh.Snapshot()), Findings: s.mesh.AllFindings(),
		Views: map[model.Key]*View{}, Classes: map[model.Key][]string{}, pods: map[string]store.Role{},
	}
	s.mesh.Views.ForEach(func(key model.Key, _ []*store.WorkloadView) {
		view, _ := s.mesh.View(key)
		out.Views[key] = &View{view}
	})
	s.mesh.Pods.ForEach(func(uid string, all []store.Role) { out.pods[uid] = all[0] })
	s.mesh.Classes.ForEach(func(key model.Key, _ []string) { out.Classes[key] = s.mesh.ClassesOf(key) })
	return out
}

// Drivers lists the distinct sidecar drivers of a workload, sorted. The usual driver is the driver of pods without a
// sidecarClass, and of a workload without pods.
func (s *State) Drivers(workload model.Key, usual string) []string {
	classes := s.Classes[workload]
	if len(classes) == 0 {
		return []string{usual}
	}
	out := make([]string, len(classes))
	for i, class := range classes {
		out[i] = cmp.Or(class, usual)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WorkloadOf returns the workload of a pod, by pod UID.
func (s *State) WorkloadOf(podUID string) (model.Workload, bool) {
	pod, ok := s.pods[podUID]
	if !ok {
		return model.Workload{}, false
	}
	return s.Index.Workload(pod.Workload)
}

// ClassOf returns the sidecarClass of a pod, by pod UID. It is empty if the pod has no sidecarClass annotation.
func (s *State) ClassOf(podUID string) string { return s.pods[podUID].Class }

// ServiceOf returns the service of a mesh with a host name, as a pod of a namespace writes it: NAME, NAME.NAMESPACE and
// NAME.NAMESPACE.svc.DOMAIN are names of one Service.
func (s *State) ServiceOf(mesh, host, namespace string) (model.Service, bool) {
	called, inCluster := store.ServiceName(host, namespace)
	for _, service := range s.Index.Services(mesh) {
		if service.Private {
			continue // the pod asks the DNS of the cluster
		}
		for _, name := range append([]string{service.Name}, service.Aliases...) {
			own, ok := store.ServiceName(name, service.Origin.Object().Namespace)
			if strings.EqualFold(name, host) || inCluster && ok && own == called {
				return service, true
			}
		}
	}
	return model.Service{}, false
}
