package appmesh

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// selectedNode is a VirtualNode that is served, with its selector compiled.
type selectedNode struct {
	*member[*api.VirtualNode]
	selector labels.Selector
}

// Instances compiles objects, other than pods, into a function that tells which workload a pod is an instance of, and
// gives its endpoint. It is what Translate does with each pod, so that an event about one pod costs one call. The
// function reports false for pods outside the mesh and for pods that have ended.
func (d Dialect) Instances(objects []client.Object) func(*corev1.Pod) (model.Endpoint, bool) {
	t := newTranslator(d.Settings, objects)
	byNamespace := t.selectedNodes()
	return func(pod *corev1.Pod) (model.Endpoint, bool) {
		found := matchingNodes(byNamespace, pod)
		if len(found) == 0 || ended(pod) {
			return model.Endpoint{}, false
		}
		return t.endpoint(found[0].member, pod), true
	}
}

// instances adds the endpoints of all pods, and reports VirtualNodes that select one pod. A pod that runs already
// stays with the older one, since a new object must not take an old one's pods away.
func (t *translator) instances() {
	byNamespace := t.selectedNodes()
	type pair struct{ older, younger *selectedNode }
	shared := map[pair][]string{}
	for _, pod := range t.in.pods {
		found := matchingNodes(byNamespace, pod)
		if len(found) == 0 || ended(pod) {
			continue
		}
		t.out.Endpoints = append(t.out.Endpoints, t.endpoint(found[0].member, pod))
		for _, younger := range found[1:] {
			p := pair{found[0], younger}
			shared[p] = append(shared[p], pod.Name)
		}
	}
	for p, names := range shared {
		slices.Sort(names)
		pods := abbreviate(names)
		t.warn(p.older.origin.At("spec.podSelector"), model.CodeSelectorConflict, "pod %s is selected by %s too; it stays with this object, which is older", pods, p.younger.origin.Object)
		t.report(p.younger.origin.At("spec.podSelector"), model.CodeSelectorConflict, "pod %s is selected by %s already, which is older and keeps it", pods, p.older.origin.Object)
	}
}

func (t *translator) selectedNodes() map[string][]*selectedNode {
	out := map[string][]*selectedNode{}
	for _, m := range t.nodes.served {
		n := &selectedNode{m, t.compile(m.object.Spec.PodSelector, m.origin.At("spec.podSelector"))}
		out[m.object.Namespace] = append(out[m.object.Namespace], n)
	}
	return out
}

func matchingNodes(byNamespace map[string][]*selectedNode, pod *corev1.Pod) []*selectedNode {
	var found []*selectedNode
	for _, n := range byNamespace[pod.Namespace] {
		if n.selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, n)
		}
	}
	return found
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// endpoint gives what is known of a pod. One without an address yet is listed too: its sidecar asks for its
// configuration before the API server has heard of the address.
func (t *translator) endpoint(m *member[*api.VirtualNode], pod *corev1.Pod) model.Endpoint {
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return model.Endpoint{
		Workload:  m.key,
		Instance:  model.Instance{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Addresses: addresses(pod),
		Identity:  model.Identity{TrustDomain: t.settings.trustDomain(), Namespace: pod.Namespace, Account: account},
		Ready:     ready(pod),
		Groups:    t.registry.groupsOf(m, pod),
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
