package l7mp

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// addNames adds the rules for names.
func (r *rules) addNames(g *incremental.Graph) {
	rule := incremental.NewRule(g, "name")
	incremental.Each(rule, r.wishes, &nameRule{
		services: r.findsServices(rule), targets: incremental.Reads(rule, r.targets),
		resolved: incremental.Emits(rule, r.resolved), destinations: r.out.EmitsDestinations(rule),
		findings: r.out.EmitsFindings(rule),
	}, (*nameRule).evaluate)
	rule = incremental.NewRule(g, "used service")
	incremental.Each(rule, r.used, &usedServiceRule{
		incremental.Reads(rule, r.virtualServices), incremental.Reads(rule, r.services),
		incremental.Emits(rule, r.selections),
	}, (*usedServiceRule).evaluate)
}

// usedServiceRule emits the selectors of VirtualServices and Services whose pods are endpoints. Others have no
// groups: a gateway may have thousands of VirtualServices that nobody names.
type usedServiceRule struct {
	virtualServices *incremental.Reader[types.NamespacedName, *virtualService]
	services        *incremental.Reader[types.NamespacedName, *corev1.Service]
	selections      *incremental.Emitter[selectorIndex, *selection]
}

func (r *usedServiceRule) evaluate(of service, _ []struct{}) {
	out := selection{group: of.group()}
	if v, known := r.virtualServices.ReadFirst(of.NamespacedName); known && of.kind == api.KindVirtualService {
		out.selector, out.origin = v.selector, v.origin.At("spec.selector")
	} else if s, known := r.services.ReadFirst(of.NamespacedName); known && of.kind == kindService &&
		len(s.Spec.Selector) > 0 {
		from := &metav1.LabelSelector{MatchLabels: s.Spec.Selector}
		out.selector = &selector{
			namespace: of.Namespace, labels: labels.SelectorFromSet(s.Spec.Selector), index: indexOf(from, of.Namespace),
		}
		out.origin = originOf("", kindService, s).At("spec.selector")
	} else {
		return
	}
	for _, key := range out.index {
		r.selections.Emit(key, &out)
	}
}

// addPods adds the rules for pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	pods := store.Of[*store.Pod](objects)
	rule := incremental.NewRule(g, "labels of pods")
	incremental.Each(rule, pods, incremental.Emits(rule, r.podSets),
		func(out *incremental.Emitter[podSet, bool], _ types.NamespacedName, all []*store.Pod) {
			if pod := all[0]; !pod.Terminated {
				out.Emit(podSetOf(pod.Namespace(), pod.GetLabels()), r.dialect.hasProxy(pod))
			}
		})
	rule = incremental.NewRule(g, "set of pods")
	incremental.Each(rule, r.podSets, &podSetRule{
		incremental.Reads(rule, r.selections), incremental.Emits(rule, r.groups), incremental.Emits(rule, r.listeners),
	}, (*podSetRule).evaluate)
	rule = incremental.NewRule(g, "Pod")
	incremental.Each(rule, pods, &podRule{
		r.dialect, incremental.Reads(rule, r.groups), r.out.EmitsEndpoints(rule),
	}, (*podRule).evaluate)
}

// hasProxy reports whether a container of a pod is a proxy that gets configuration.
func (d Dialect) hasProxy(pod *store.Pod) bool {
	return (pod.HasProxy() || d.WithoutAgent != "") && pod.Settings().Containers.Has(proxyContainer)
}

// podSetRule finds the selectors that select pods.
type podSetRule struct {
	selections *incremental.Reader[selectorIndex, *selection]
	groups     *incremental.Emitter[podSet, string]
	listeners  *incremental.Emitter[podSet, *listener]
}

func (r *podSetRule) evaluate(pods podSet, _ []bool) {
	groups := map[string]bool{}
	for _, key := range keysOf(pods.namespace, pods.labels) {
		for _, s := range r.selections.Read(key) {
			if !s.selects(pods) {
				continue
			}
			if s.group != "" {
				groups[s.group] = true
			}
			if s.listener != nil {
				r.listeners.Emit(pods, s.listener)
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r.groups.Emit(pods, group)
	}
}

// podRule emits endpoints.
type podRule struct {
	dialect   Dialect
	groups    *incremental.Reader[podSet, string]
	endpoints store.Output[model.Instance, model.Endpoint]
}

func (r *podRule) evaluate(_ types.NamespacedName, all []*store.Pod) {
	pod := all[0]
	if pod.Terminated || !pod.Of(r.dialect.Name()) {
		return
	}
	pods, proxy := podSetOf(pod.Namespace(), pod.GetLabels()), r.dialect.hasProxy(pod)
	groups := r.groups.Read(pods)
	if len(groups) == 0 && !proxy {
		return
	}
	e := store.EndpointOf(pod, pods.workload(), r.dialect.trustDomain())
	e.Groups = slices.Clone(groups)
	switch {
	case !proxy:
		e.Instance.UID = "" // it gets no configuration from here
	case !pod.HasProxy():
		e.SidecarClass = r.dialect.WithoutAgent
	}
	r.endpoints.Emit(e)
}
