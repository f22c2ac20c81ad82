package appmesh

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// selectedNode is a VirtualNode as its pods see it.
type selectedNode struct {
	nameClaim
	selector labels.Selector
	// service is the one of the registry under which the pods are registered, with the attributes given and the port;
	// empty for none.
	service cloudMapService
	given   map[string]string
	port    string
}

// selectorIndex is where selectors are kept: by namespace and, for those that demand one, by a label, so that a pod is
// compared with few.
type selectorIndex struct{ namespace, label, value string }

// selectorConflict are two VirtualNodes that select one pod.
type selectorConflict struct{ older, younger model.ObjectRef }

// selector puts the selector of a VirtualNode on its shelf.
func (t *translator) selector(m *meshMember[*api.VirtualNode]) {
	selector := m.object.Spec.PodSelector
	n := selectedNode{nameClaim: m.nameClaim, selector: t.compile(selector, m.origin.At("spec.podSelector"))}
	if selector == nil {
		return // selects nothing
	}
	at := selectorIndex{namespace: m.namespace}
	if len(selector.MatchLabels) > 0 {
		at.label = slices.Min(slices.Collect(maps.Keys(selector.MatchLabels)))
		at.value = selector.MatchLabels[at.label]
	}
	if service, ok := registeredService(m.key.Mesh, m.object); ok {
		n.service, n.given = service, givenAttributes(m.object)
		if l := m.object.Spec.Listeners; len(l) > 0 {
			n.port = strconv.Itoa(int(l[0].PortMapping.Port))
		}
	}
	t.selectors.Emit(t.Evaluation, at, n)
}

// addPods adds the rules about pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	r.sharedPods = incremental.NewRelation[selectorConflict](g, "shared pods", strings.Compare, func(a, b string) bool {
		return a == b
	})
	incremental.AddRule(g, "Pod", store.Of[*corev1.Pod](objects),
		func(task *incremental.Evaluation, _ types.NamespacedName, all []*corev1.Pod) {
			t := &translator{task, r}
			t.instance(all[0])
		})
	incremental.AddRule(g, "shared pods", r.sharedPods,
		func(task *incremental.Evaluation, pair selectorConflict, names []string) {
			t, pods := &translator{task, r}, abbreviate(names)
			older, younger := model.Origin{Object: pair.older, Path: "spec.podSelector"}, model.Origin{
				Object: pair.younger, Path: "spec.podSelector",
			}
			t.warn(older, model.CodeSelectorConflict,
				"pod %s is selected by %s too; it stays with this object, which is older", pods, pair.younger)
			t.report(younger, model.CodeSelectorConflict,
				"pod %s is selected by %s already, which is older and keeps it",
				pods, pair.older)
		})
}

// instance adds the endpoint of a pod. A pod that runs already stays with the older one of two VirtualNodes that select
// it, since a new object must not take an old one's pods away.
func (t *translator) instance(pod *corev1.Pod) {
	found := t.candidates(pod)
	if len(found) == 0 || store.Terminated(pod) {
		return
	}
	t.out.AddEndpoint(t.Evaluation, t.endpoint(found[0], pod))
	for _, younger := range found[1:] {
		t.sharedPods.Emit(t.Evaluation, selectorConflict{found[0].origin.Object, younger.origin.Object}, pod.Name)
	}
}

// candidates lists the VirtualNodes that select a pod, oldest first.
func (t *translator) candidates(pod *corev1.Pod) []selectedNode {
	var found []selectedNode
	look := func(at selectorIndex) {
		for _, n := range t.selectors.Read(t.Evaluation, at) {
			if n.selector.Matches(labels.Set(pod.Labels)) {
				found = append(found, n)
			}
		}
	}
	look(selectorIndex{namespace: pod.Namespace})
	// in order: what is read in another order counts as something else
	for _, label := range slices.Sorted(maps.Keys(pod.Labels)) {
		look(selectorIndex{pod.Namespace, label, pod.Labels[label]})
	}
	slices.SortFunc(found, func(a, b selectedNode) int { return a.compare(b.precedence) })
	return found
}

// endpoint gives what is known of a pod of a VirtualNode.
func (t *translator) endpoint(n selectedNode, pod *corev1.Pod) model.Endpoint {
	e := store.EndpointOf(pod, n.key, t.settings.trustDomain())
	e.Groups = t.groups(n, pod)
	return e
}
