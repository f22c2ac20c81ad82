package appmesh

import (
	"maps"
	"net/netip"
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
	claim
	selector labels.Selector
	// service is the one of the registry under which the pods are registered, with the attributes given and the port; empty for none.
	service registered
	given   map[string]string
	port    string
}

// shelf is where selectors are kept: by namespace and, for those that demand one, by a label, so that a pod is compared with few.
type shelf struct{ namespace, label, value string }

// rivals are two VirtualNodes that select one pod.
type rivals struct{ older, younger model.ObjectRef }

// selector puts the selector of a VirtualNode on its shelf.
func (t *translator) selector(m *member[*api.VirtualNode]) {
	selector := m.object.Spec.PodSelector
	n := selectedNode{claim: m.claim, selector: t.compile(selector, m.origin.At("spec.podSelector"))}
	if selector == nil {
		return // selects nothing
	}
	at := shelf{namespace: m.namespace}
	if len(selector.MatchLabels) > 0 {
		at.label = slices.Min(slices.Collect(maps.Keys(selector.MatchLabels)))
		at.value = selector.MatchLabels[at.label]
	}
	if service, ok := registers(m.key.Mesh, m.object); ok {
		n.service, n.given = service, givenAttributes(m.object)
		if l := m.object.Spec.Listeners; len(l) > 0 {
			n.port = strconv.Itoa(int(l[0].PortMapping.Port))
		}
	}
	t.selectors.Emit(t.Evaluation, at, n)
}

// addPods adds the rules about pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	r.sharedPods = incremental.NewRelation[rivals](g, "shared pods", strings.Compare, func(a, b string) bool { return a == b })
	incremental.AddRule(g, "Pod", store.Of[*corev1.Pod](objects), func(task *incremental.Evaluation, _ types.NamespacedName, all []*corev1.Pod) {
		t := &translator{task, r}
		t.instance(all[0])
	})
	incremental.AddRule(g, "shared pods", r.sharedPods, func(task *incremental.Evaluation, pair rivals, names []string) {
		t, pods := &translator{task, r}, abbreviate(names)
		older, younger := model.Origin{Object: pair.older, Path: "spec.podSelector"}, model.Origin{Object: pair.younger, Path: "spec.podSelector"}
		t.warn(older, model.CodeSelectorConflict, "pod %s is selected by %s too; it stays with this object, which is older", pods, pair.younger)
		t.report(younger, model.CodeSelectorConflict, "pod %s is selected by %s already, which is older and keeps it", pods, pair.older)
	})
}

// instance adds the endpoint of a pod. A pod that runs already stays with the older one of two VirtualNodes that select it, since a new
// object must not take an old one's pods away.
func (t *translator) instance(pod *corev1.Pod) {
	found := t.candidates(pod)
	if len(found) == 0 || ended(pod) {
		return
	}
	t.out.AddEndpoint(t.Evaluation, t.endpoint(found[0], pod))
	for _, younger := range found[1:] {
		t.sharedPods.Emit(t.Evaluation, rivals{found[0].origin.Object, younger.origin.Object}, pod.Name)
	}
}

// candidates lists the VirtualNodes that select a pod, oldest first.
func (t *translator) candidates(pod *corev1.Pod) []selectedNode {
	var found []selectedNode
	look := func(at shelf) {
		for _, n := range t.selectors.Read(t.Evaluation, at) {
			if n.selector.Matches(labels.Set(pod.Labels)) {
				found = append(found, n)
			}
		}
	}
	look(shelf{namespace: pod.Namespace})
	for _, label := range slices.Sorted(maps.Keys(pod.Labels)) { // in order: what is read in another order counts as something else
		look(shelf{pod.Namespace, label, pod.Labels[label]})
	}
	slices.SortFunc(found, func(a, b selectedNode) int { return a.compare(b.age) })
	return found
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// endpoint gives what is known of a pod. One without an address yet is listed too: its sidecar asks for its
// configuration before the API server has heard of the address.
func (t *translator) endpoint(n selectedNode, pod *corev1.Pod) model.Endpoint {
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return model.Endpoint{
		Workload:  n.key,
		Instance:  model.Instance{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Addresses: addresses(pod),
		Identity:  model.Identity{TrustDomain: t.settings.trustDomain(), Namespace: pod.Namespace, Account: account},
		Ready:     ready(pod),
		Groups:    t.groups(n, pod),
	}
}

// addresses lists a pod's addresses in the order of the API server, the first of each family.
func addresses(pod *corev1.Pod) []netip.Addr {
	ips := pod.Status.PodIPs
	if len(ips) == 0 && pod.Status.PodIP != "" {
		ips = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	var out []netip.Addr
	for _, ip := range ips {
		a, err := netip.ParseAddr(ip.IP)
		if err == nil && !slices.ContainsFunc(out, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
			out = append(out, a)
		}
	}
	return out
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
