package appmesh

import (
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// selectedWorkload is the part of a VirtualNode or VirtualGateway that its pods depend on. The key is that of the
// workload.
type selectedWorkload struct {
	*nameClaim
	selector labels.Selector
	gateway  bool
	// service is the registry service of the pods, or empty. attributes are the attributes of the VirtualNode, port is its
	// first port.
	service    cloudMapService
	attributes map[string]string
	port       string
	// identities are what the pods are expected to be.
	identities []namedIdentity
}

// selectorIndex is the index key of selectors: the namespace and, if the selector requires a label, that label. It
// limits the number of selectors that are compared with a pod.
type selectorIndex struct{ namespace, label, value string }

// selectorConflict is a pair of objects that select the same pod.
type selectorConflict struct{ older, younger model.ObjectRef }

// selector adds the selector of a VirtualNode to the index.
func (t *nodeRule) selector(m *meshMember[*api.VirtualNode]) {
	selector := m.object.Spec.PodSelector
	n := selectedWorkload{
		nameClaim: m.nameClaim, selector: t.compile(selector, m.origin.At("spec.podSelector")),
		identities: t.settings.identitiesOfNode(m.object),
	}
	if selector == nil {
		return // selects nothing
	}
	if service, ok := registeredService(m.key.Mesh, m.object); ok {
		n.service, n.attributes = service, nodeAttributes(m.object)
		if l := m.object.Spec.Listeners; len(l) > 0 {
			n.port = strconv.Itoa(int(l[0].PortMapping.Port))
		}
	}
	t.selectors.Emit(indexOf(m.object.Namespace, selector), n)
}

// indexOf returns the index key of a selector.
func indexOf(namespace string, selector *metav1.LabelSelector) selectorIndex {
	at := selectorIndex{namespace: namespace}
	if len(selector.MatchLabels) > 0 {
		at.label = slices.Min(slices.Collect(maps.Keys(selector.MatchLabels)))
		at.value = selector.MatchLabels[at.label]
	}
	return at
}

// addPods adds the rules for pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "Pod")
	incremental.Each(rule, store.Of[*store.Pod](objects), &podRule{
		settings: r.settings, selectors: incremental.Reads(rule, r.selectors),
		registry: incremental.Reads(rule, r.registry), endpoints: r.out.EmitsEndpoints(rule),
		sharedPods: incremental.Emits(rule, r.sharedPods), withoutProxy: incremental.Emits(rule, r.withoutProxy),
		bypassing:       incremental.Emits(rule, r.bypassing),
		otherIdentities: incremental.Emits(rule, r.otherIdentities),
	}, (*podRule).evaluate)
	rule = incremental.NewRule(g, "shared pods")
	incremental.Each(rule, r.sharedPods, new(r.translator(rule)), (*translator).reportSharedPods)
	rule = incremental.NewRule(g, "pods without proxy")
	incremental.Each(rule, r.withoutProxy, new(r.translator(rule)), (*translator).reportWithoutProxy)
	rule = incremental.NewRule(g, "pods that bypass their sidecars")
	incremental.Each(rule, r.bypassing, new(r.translator(rule)), (*translator).reportBypass)
	r.addPodIdentities(g)
}

func (t *translator) reportWithoutProxy(gateway model.ObjectRef, names []string) {
	t.report(model.NewOrigin(gateway).At("spec.podSelector"), model.CodeNoProxy,
		"pod %s has no proxy: a pod of a VirtualGateway needs a container with the name %s, and injection when it is created",
		abbreviate(names), gatewayContainer)
}

// bypass is how pods of an object bypass their sidecars.
type bypass struct {
	object model.ObjectRef
	text   string
}

func (t *translator) reportBypass(of bypass, names []string) {
	t.report(model.NewOrigin(of.object).At("spec.podSelector"), model.CodeBypass,
		"pod %s bypasses its sidecar: %s", abbreviate(names), of.text)
}

func (t *translator) reportSharedPods(pair selectorConflict, names []string) {
	pods := abbreviate(names)
	older, younger := model.NewOrigin(pair.older).At("spec.podSelector"), model.NewOrigin(pair.younger).At("spec.podSelector")
	t.warn(older, model.CodeSelectorConflict,
		"pod %s is also selected by %s; it belongs to this object, which is older", pods, pair.younger)
	t.report(younger, model.CodeSelectorConflict,
		"pod %s is also selected by %s; it belongs to that object, which is older",
		pods, pair.older)
}

// podRule adds the endpoints of pods.
type podRule struct {
	settings   Settings
	selectors  *incremental.Reader[selectorIndex, selectedWorkload]
	registry   *incremental.Reader[cloudMapService, cloudMapQuery]
	endpoints  store.Output[model.Instance, model.Endpoint]
	sharedPods *incremental.Emitter[selectorConflict, string]
	// otherIdentities has the names of pods that present another identity than their VirtualNode names.
	otherIdentities *incremental.Emitter[otherIdentity, string]
	// withoutProxy are the names of pods of VirtualGateways that have no proxy.
	withoutProxy *incremental.Emitter[model.ObjectRef, string]
	// bypassing are the names of pods that bypass their sidecars.
	bypassing *incremental.Emitter[bypass, string]
}

func (t *podRule) evaluate(_ types.NamespacedName, all []*store.Pod) { t.instance(all[0]) }

// instance adds the endpoint of a pod. If two objects select the pod, it belongs to the older one, so that a new
// object does not take over existing pods.
func (t *podRule) instance(pod *store.Pod) {
	found := t.selecting(pod)
	if len(found) == 0 || pod.Terminated || !pod.Of(Dialect{}.Name()) {
		return
	}
	t.endpoints.Emit(t.endpoint(found[0], pod))
	t.checkIdentity(found[0], pod)
	if found[0].gateway && !pod.HasProxy() {
		t.withoutProxy.Emit(found[0].origin.Object(), pod.Name)
	}
	if text := pod.Settings().Bypass; text != "" {
		t.bypassing.Emit(bypass{found[0].origin.Object(), text}, pod.Name)
	}
	for _, younger := range found[1:] {
		t.sharedPods.Emit(selectorConflict{found[0].origin.Object(), younger.origin.Object()}, pod.Name)
	}
}

// selecting lists the VirtualNodes and VirtualGateways that select a pod, from old to young.
func (t *podRule) selecting(pod *store.Pod) []selectedWorkload {
	var found []selectedWorkload
	look := func(at selectorIndex) {
		for _, n := range t.selectors.Read(at) {
			if n.selector.Matches(pod.Labels) {
				found = append(found, n)
			}
		}
	}
	namespace := pod.Namespace()
	look(selectorIndex{namespace: namespace})
	for label, value := range pod.Labels.All() {
		look(selectorIndex{namespace, label, value})
	}
	slices.SortFunc(found, func(a, b selectedWorkload) int { return a.origin.CompareAge(b.origin) })
	return found
}

// endpoint returns the endpoint of a pod.
func (t *podRule) endpoint(n selectedWorkload, pod *store.Pod) model.Endpoint {
	e := store.EndpointOf(pod, n.key, t.settings.trustDomain())
	e.Groups = t.groups(n, pod)
	return e
}
