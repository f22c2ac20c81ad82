package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Side is one of the two configurations.
type Side struct {
	// Name is what the user calls it: a folder, or a driver.
	Name string

	driver    string
	state     *engine.State
	explainer *explain.Explainer
	kinds     dialect.KindNames
	pods      map[types.NamespacedName]*corev1.Pod
	// lacking are the features of each workload that its driver does not support.
	lacking map[model.Key][]string
}

// NewSide creates a side from the state of manifests.
func NewSide(name string, s *engine.State) *Side {
	out := &Side{
		Name: name, state: s, explainer: explain.New(s), kinds: dialect.KindNamesOfObjects(s.Objects),
		pods: map[types.NamespacedName]*corev1.Pod{},
	}
	for _, o := range s.Objects {
		if pod, is := o.(*corev1.Pod); is {
			out.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
		}
	}
	return out
}

// NewDriverSide creates a side whose sidecars are all of one driver, with the given features: what it does not
// support is protected as the control plane protects it.
func NewDriverSide(name, driver string, s *engine.State, supports map[model.Feature]bool) *Side {
	protected, lacking := *s, map[model.Key][]string{}
	protected.Views = make(map[model.Key]*engine.View, len(s.Views))
	for key, view := range s.Views {
		for _, need := range view.Needs() {
			if !supports[need.Feature] {
				lacking[key] = append(lacking[key], string(need.Feature))
			}
		}
		served, _ := view.Protect(driver, supports)
		protected.Views[key] = &engine.View{View: &served}
	}
	out := NewSide(name, &protected)
	out.driver, out.lacking = driver, lacking
	return out
}

// Driver is the driver of all sidecars; empty if the workloads name their own.
func (s *Side) Driver() string { return s.driver }

// party is an application or a gateway: one pod of a configuration, or a workload without pods.
type party struct {
	// name identifies it in both configurations. object is the name of its object, if it has no pod.
	name, object string
	workload     lookup.Workload
	gateway      bool
}

// parties lists the parties of a side, by name. Pods of one template are one party.
func (s *Side) parties() []party {
	var out []party
	seen, populated := map[string]bool{}, map[model.Key]bool{}
	for _, e := range s.state.Index.Model.Endpoints {
		w, known := s.state.Index.Workload(e.Workload)
		name := s.podName(types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name})
		if populated[e.Workload] = true; !known || seen[name] || s.state.Views[w.Key] == nil {
			continue
		}
		seen[name] = true
		out = append(out, s.party(name, w))
	}
	for _, w := range s.state.Index.Model.Workloads {
		if !populated[w.Key] && s.state.Views[w.Key] != nil {
			out = append(out, s.party("", w))
		}
	}
	slices.SortFunc(out, func(a, b party) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object, b.object))
	})
	return out
}

func (s *Side) party(name string, w model.Workload) party {
	ref := w.Origin.Object()
	return party{
		name: name, object: strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/"),
		workload: lookup.Workload{Workload: w}, gateway: w.Role == model.RoleGateway,
	}
}

// podName names a pod of files by its workload, such as "Deployment shop/cart", and a member of a StatefulSet by itself.
func (s *Side) podName(name types.NamespacedName) string {
	if pod := s.pods[name]; pod != nil {
		if of := manifest.WorkloadOf(pod); strings.HasSuffix(of, "/"+name.Name) {
			return of
		}
	}
	return "Pod " + name.String()
}

// hasPod reports whether the side has a pod with the name of a party, in the mesh or not.
func (s *Side) hasPod(name string) bool {
	for pod := range s.pods {
		if s.podName(pod) == name {
			return true
		}
	}
	return false
}

// view returns the view of a party.
func (s *Side) view(p party) *model.View { return s.state.Views[p.workload.Key].View }

// settings returns the facts about a party that no request shows.
func (s *Side) settings(p party) []fact {
	v := s.view(p)
	log := "none"
	if l := v.Workload.AccessLog; l != nil {
		log = accessLog(*l)
	}
	lacking := "none"
	if all := s.lacking[p.workload.Key]; len(all) > 0 {
		lacking = strings.Join(all, ", ")
	}
	return []fact{
		{AccessLog, log, model.Origin{}},
		{Features, lacking, model.Origin{}},
		{TrustedHops, fmt.Sprint(v.Workload.TrustedHops), model.Origin{}},
	}
}

func accessLog(l model.AccessLog) string {
	switch {
	case l.Text != "":
		return fmt.Sprintf("%s, format %q", l.Path, l.Text)
	case len(l.Fields) > 0:
		text, err := json.Marshal(l.Fields)
		if err == nil {
			return l.Path + ", format " + string(text)
		}
	}
	return l.Path
}
