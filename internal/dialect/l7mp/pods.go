package l7mp

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

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
	rule = incremental.NewRule(g, "used Service")
	incremental.Each(rule, r.usedServices, &usedServiceRule{
		incremental.Reads(rule, r.services), incremental.Emits(rule, r.selections),
	}, (*usedServiceRule).evaluate)
}

// usedServiceRule emits the selectors of Services without a VirtualService.
type usedServiceRule struct {
	services   *incremental.Reader[types.NamespacedName, *corev1.Service]
	selections *incremental.Emitter[selectorIndex, *selection]
}

func (r *usedServiceRule) evaluate(name types.NamespacedName, _ []struct{}) {
	s, known := r.services.ReadFirst(name)
	if !known || len(s.Spec.Selector) == 0 {
		return
	}
	label := slices.Min(slices.Collect(maps.Keys(s.Spec.Selector)))
	key := selectorIndex{name.Namespace, label, s.Spec.Selector[label]}
	r.selections.Emit(key, &selection{
		selector: &selector{
			namespace: name.Namespace, labels: labels.SelectorFromSet(s.Spec.Selector), index: []selectorIndex{key},
		},
		group: serviceGroup(name), origin: originOf("", "Service", s).At("spec.selector"),
	})
}

// addPods adds the rules for pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	pods := store.Of[*store.Pod](objects)
	rule := incremental.NewRule(g, "labels of pods")
	incremental.Each(rule, pods, incremental.Emits(rule, r.podSets),
		func(out *incremental.Emitter[podSet, bool], _ types.NamespacedName, all []*store.Pod) {
			if pod := all[0]; !pod.Terminated {
				out.Emit(podSetOf(pod.Namespace(), pod.GetLabels()), pod.HasProxy())
			}
		})
	rule = incremental.NewRule(g, "set of pods")
	incremental.Each(rule, r.podSets, &podSetRule{
		incremental.Reads(rule, r.selections), incremental.Emits(rule, r.groups), incremental.Emits(rule, r.listeners),
	}, (*podSetRule).evaluate)
	rule = incremental.NewRule(g, "Pod")
	incremental.Each(rule, pods, &podRule{
		r.dialect.trustDomain(), incremental.Reads(rule, r.groups), incremental.Reads(rule, r.listeners),
		r.out.EmitsEndpoints(rule),
	}, (*podRule).evaluate)
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
			groups[s.group] = true
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
	trustDomain string
	groups      *incremental.Reader[podSet, string]
	listeners   *incremental.Reader[podSet, *listener]
	endpoints   store.Output[model.Instance, model.Endpoint]
}

func (r *podRule) evaluate(_ types.NamespacedName, all []*store.Pod) {
	pod := all[0]
	if pod.Terminated {
		return
	}
	pods := podSetOf(pod.Namespace(), pod.GetLabels())
	groups := r.groups.Read(pods)
	if len(groups) == 0 {
		return
	}
	e := store.EndpointOf(pod, pods.workload(), r.trustDomain)
	e.Groups = slices.Clone(groups)
	if !pod.HasProxy() || len(r.listeners.Read(pods)) == 0 {
		e.Instance.UID = "" // it gets no configuration from here
	}
	r.endpoints.Emit(e)
}
