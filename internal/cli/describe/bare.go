package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// BarePod is a pod of a workload that has no sidecar.
type BarePod struct {
	Pod    model.Instance `json:"pod"`
	Reason string         `json:"reason"`
}

// barePods returns the pods of an application that have no sidecar, also those that are no instances because injection
// leaves them out or refuses them. Pods of files get it when they are created.
func barePods(s *engine.State, w lookup.Workload, instances []model.Endpoint) []BarePod {
	if w.Role == model.RoleGateway {
		return nil // its pods have their proxy in the manifest
	}
	pods, namespaces := map[string]*corev1.Pod{}, map[string]*corev1.Namespace{}
	for _, o := range s.Objects {
		switch o := o.(type) {
		case *corev1.Pod:
			pods[string(o.UID)] = o
		case *corev1.Namespace:
			namespaces[o.Name] = o
		}
	}
	own := w.Origin.Object().Namespace
	var out []BarePod
	for _, e := range instances {
		pod := pods[e.Instance.UID]
		delete(pods, e.Instance.UID)
		if pod == nil || e.SidecarClass != "" || w.Pod != nil && w.Pod.Instance != e.Instance {
			continue
		}
		if why := whyBare(s, w, pod, namespaces[pod.Namespace]); why != "" {
			out = append(out, BarePod{e.Instance, why})
		}
	}
	if w.Pod != nil {
		return out
	}
	for uid, pod := range pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		ns := namespaces[pod.Namespace]
		if pod.Namespace != own || ended || ns == nil || manifest.AssumedNamespace(ns) || manifest.NoReplicas(pod) {
			continue
		}
		if why := cmp.Or(refused(s, w, pod), dialect.WithoutSidecar(s.Objects, pod, ns, w.Key)); why != "" {
			out = append(out, BarePod{model.Instance{Namespace: pod.Namespace, Name: pod.Name, UID: uid}, why})
		}
	}
	slices.SortFunc(out, func(a, b BarePod) int { return strings.Compare(a.Pod.Name, b.Pod.Name) })
	return out
}

// refused returns why admission refuses a pod of a workload; empty if it does not, or if the pod is of another one.
// Without its annotations, the pod would be of the workload.
func refused(s *engine.State, w lookup.Workload, pod *corev1.Pod) string {
	plain := pod.DeepCopy()
	plain.Annotations = nil
	for _, d := range dialect.Implementing[dialect.Injection](dialect.All()) {
		_, _, fault := d.SelectWorkload(s.Objects, pod, pod.Namespace)
		if fault == nil {
			continue
		}
		if key, is, err := d.SelectWorkload(s.Objects, plain, pod.Namespace); err == nil && is && key == w.Key {
			return "no pod can be created: " + fault.Error()
		}
	}
	return ""
}

// whyBare returns why a pod has no sidecar; empty if it has one.
func whyBare(s *engine.State, w lookup.Workload, pod *corev1.Pod, ns *corev1.Namespace) string {
	running := len(names.Known(store.Addresses(pod))) > 0
	if running && store.HasProxy(pod) {
		return ""
	}
	why := ""
	if ns != nil && !manifest.AssumedNamespace(ns) {
		why = dialect.WithoutSidecar(s.Objects, pod, ns, w.Key)
	}
	if running {
		why = cmp.Or(why, "it was created without injection")
	}
	return why
}

// application describes the pods of an application.
func (d Workload) application() string {
	all := len(d.Instances)
	for _, b := range d.WithoutSidecar {
		if !slices.ContainsFunc(d.Instances, func(e model.Endpoint) bool { return e.Instance.UID == b.Pod.UID }) {
			all++
		}
	}
	if d.Pod != nil {
		all = 1
	}
	switch bare := len(d.WithoutSidecar); bare {
	case 0:
		return "application with a sidecar"
	case all:
		return "application without a sidecar: what follows is what its sidecar would do"
	default:
		return fmt.Sprintf("application with a sidecar in %d of %d pods", all-bare, all)
	}
}

// bare lists pods without a sidecar.
func (p *page) bare(pods []BarePod) {
	if len(pods) == 0 {
		return
	}
	p.heading("Without a sidecar")
	t := terminal.Table{Headings: []string{"POD", "REASON"}}
	for _, b := range pods {
		t.Row(b.Pod.Namespace+"/"+b.Pod.Name, b.Reason)
	}
	p.table(t)
}
