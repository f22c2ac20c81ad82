package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// entrance is a Service that selects pods of a gateway, and one of these pods.
type entrance struct {
	service *corev1.Service
	pod     *corev1.Pod
}

// entering returns a request on the listener of a gateway that gets it. Clients connect to the gateway's Service: this
// maps the port, unless the URL names that of a listener. Without a Service, it is the first listener that serves TLS
// for https, and that accepts connections without TLS for http. A step says why no listener gets the request; it has no
// text otherwise.
func (f *finder) entering(w lookup.Workload, view *model.View, r Request) (Request, model.Step) {
	standard := r.Port == 80 || r.Port == 443
	own := r.Protocol == model.UDP || r.Socket != "" || r.Address.IsLoopback() || r.Address.IsUnspecified()
	if own || listener(view, r.Port) != nil && !r.defaultPort {
		return r, model.Step{}
	}
	entrances := f.entrances(w)
	for _, e := range entrances {
		if port, is := targetPort(e.service, e.pod, r.Port); is {
			return r.on(port), model.Step{}
		}
	}
	switch {
	case !standard || listener(view, r.Port) != nil && len(entrances) == 0:
		return r, model.Step{}
	case len(entrances) > 0 && !slices.ContainsFunc(entrances, func(e entrance) bool { return e.has(r.Port) }):
		return r, noPort(entrances, r.Port)
	}
	for _, in := range view.Inbound {
		l := in.Listener
		plain := l.TLS == nil || l.TLS.Mode == model.TLSPermissive
		https := r.encrypted != nil
		if l.Protocol.Requests() && (https && l.TLS != nil || !https && plain) {
			return r.on(l.Port), model.Step{}
		}
	}
	return r, model.Step{}
}

// refused explains a request of a client that cannot connect to a gateway.
func (f *finder) refused(w lookup.Workload, r Request, step model.Step) Result {
	a := Result{
		Request: r.Request, Workload: w, Inbound: true, kinds: dialect.KindNamesOfObjects(f.state.Objects),
		into: w.Origin.Object(), Failure: &Failure{Error: NoConnection},
		Decision: model.Decision{Outcome: model.Refused, Request: r.Request, Steps: []model.Step{step}},
	}
	a.Findings = about(f.state, a)
	return a
}

// on returns the request on another port.
func (r Request) on(port uint16) Request {
	r.Port = port
	if r.encrypted != nil {
		inside := *r.encrypted
		inside.Port, r.encrypted = port, &inside
	}
	return r
}

// has reports whether the Service has a port. What it leads to may not be known: the name of a port of a pod.
func (e entrance) has(port uint16) bool { return slices.Contains(e.ports(), port) }

// ports returns the TCP ports of the Service.
func (e entrance) ports() []uint16 {
	var out []uint16
	for _, p := range e.service.Spec.Ports {
		if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			out = append(out, uint16(p.Port))
		}
	}
	return out
}

// noPort says that the Services of a gateway do not have a port, and which they have.
func noPort(all []entrance, port uint16) model.Step {
	var have []string
	for _, e := range all {
		var ports []string
		for _, p := range e.ports() {
			ports = append(ports, fmt.Sprint(p))
		}
		have = append(have, fmt.Sprintf("Service %s/%s has %s",
			e.service.Namespace, e.service.Name, strings.Join(ports, ", ")))
	}
	return model.Step{
		Text:   fmt.Sprintf("no Service of the gateway has port %d; %s", port, strings.Join(have, "; ")),
		Origin: model.NewOrigin(dialect.RefOf(all[0].service)),
	}
}

// entrances returns the Services of a gateway, in the order of their names.
func (f *finder) entrances(w lookup.Workload) []entrance {
	var pods []*corev1.Pod
	for _, e := range f.state.Index.Endpoints(w.Key) {
		pod := f.pods[types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name}]
		if pod != nil && (w.Pod == nil || w.Pod.Instance == e.Instance) {
			pods = append(pods, pod)
		}
	}
	var out []entrance
	for _, service := range f.services {
		if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		candidates := pods
		if len(pods) == 0 {
			candidates = f.assumedPod(w, service)
		}
		selector := labels.SelectorFromSet(service.Spec.Selector)
		i := slices.IndexFunc(candidates, func(pod *corev1.Pod) bool {
			return pod.Namespace == service.Namespace && selector.Matches(labels.Set(pod.Labels))
		})
		if i >= 0 {
			out = append(out, entrance{service, candidates[i]})
		}
	}
	slices.SortFunc(out, func(a, b entrance) int {
		return cmp.Or(cmp.Compare(a.service.Namespace, b.service.Namespace), cmp.Compare(a.service.Name, b.service.Name))
	})
	return out
}

// assumedPod returns a pod with the labels that a Service selects, if it is one of the workload. Files may lack pods.
func (f *finder) assumedPod(w lookup.Workload, service *corev1.Service) []*corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Labels: service.Spec.Selector}}
	for _, d := range dialect.Implementing[dialect.Injection](dialect.All()) {
		if _, own := d.(dialect.PodWorkloads); own {
			continue // its workloads have pods
		}
		key, is, err := d.SelectWorkload(f.state.Objects, pod, pod.Namespace)
		if err == nil && is && key.Name == w.Name {
			return []*corev1.Pod{pod}
		}
	}
	return nil
}
