package appmesh

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// PodOwner is the VirtualNode or VirtualGateway of a pod. At most one of them is set.
type PodOwner struct {
	Node    *api.VirtualNode
	Gateway *api.VirtualGateway
}

// OwnerOf returns the owner of a pod among all VirtualNodes and VirtualGateways. It ignores those of other
// namespaces. A pod under admission may have no namespace yet, hence the parameter. If several select the pod, the
// error is the text of the denial.
func OwnerOf(pod *corev1.Pod, namespace string, nodes []*api.VirtualNode,
	gateways []*api.VirtualGateway) (PodOwner, error) {
	name := namespace + "/" + podName(pod)
	node, err := exactlyOne(matching(pod, namespace, nodes, podSelectorOf), "VirtualNodes", name)
	if err != nil {
		return PodOwner{}, err
	}
	gateway, err := exactlyOne(matching(pod, namespace, gateways, func(o *api.VirtualGateway) *metav1.LabelSelector {
		return o.Spec.PodSelector
	}), "VirtualGateways", name)
	if err != nil {
		return PodOwner{}, err
	}
	if node != nil && gateway != nil {
		return PodOwner{},
			fmt.Errorf("found both VirtualNode %s and VirtualGateway %s matching pod %s, expecting one of them; make their podSelectors disjoint",
				node.Name, gateway.Name, name)
	}
	return PodOwner{Node: node, Gateway: gateway}, nil
}

// WorkloadReads returns an empty object of each kind that SelectWorkload reads. Of namespaced kinds, SelectWorkload
// reads the objects of the pod's namespace.
func (Dialect) WorkloadReads() []client.Object {
	return []client.Object{&corev1.Namespace{}, &api.Mesh{}, &api.VirtualNode{}, &api.VirtualGateway{}}
}

// SelectWorkload returns the workload of a new pod, among objects of the kinds of WorkloadReads. It reports false if
// no VirtualNode or VirtualGateway selects the pod. If the workload is not served, the error is the text of the denial:
// it names the object and the reason. It is a dialect.LeavingError if the object is being deleted.
func (d Dialect) SelectWorkload(objects []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error) {
	var nodes []*api.VirtualNode
	var gateways []*api.VirtualGateway
	var leaving []*api.VirtualNode
	for _, o := range objects {
		switch o := o.(type) {
		case *api.VirtualNode:
			if isDeleting(o) {
				leaving = append(leaving, o)
				continue
			}
			nodes = append(nodes, o)
		case *api.VirtualGateway:
			gateways = append(gateways, o)
		}
	}
	found, err := OwnerOf(pod, namespace, nodes, gateways)
	switch {
	case err != nil:
		return model.Key{}, false, err
	case found.Node != nil:
		r := d.evaluate(deciding(objects, found.Node))
		key, err := servedKey(r, r.nodes, found.Node, pod)
		return key, err == nil, err
	case found.Gateway != nil:
		r := d.evaluate(deciding(objects, found.Gateway))
		key, err := servedKey(r, r.gateways, found.Gateway, pod)
		return gatewayKey(key), err == nil, err
	}
	for _, o := range matching(pod, namespace, leaving, podSelectorOf) {
		return model.Key{}, false, &dialect.LeavingError{Text: fmt.Sprintf(
			"VirtualNode %s/%s selects pod %s/%s but is being deleted; create it again after its deletion, or annotate the pod with %s: disabled",
			namespace, o.Name, namespace, podName(pod), injectionKey)}
	}
	return model.Key{}, false, nil
}

// deciding lists the objects that decide whether an object is served: Namespaces, Meshes, and objects of its kind with
// its awsName. To evaluate all of a large namespace for each pod would take long.
func deciding(objects []client.Object, owner client.Object) []client.Object {
	var out []client.Object
	for _, o := range objects {
		switch o.(type) {
		case *corev1.Namespace, *api.Mesh:
			out = append(out, o)
		default:
			if reflect.TypeOf(o) == reflect.TypeOf(owner) && AWSName(o) == AWSName(owner) {
				out = append(out, o)
			}
		}
	}
	return out
}

func podSelectorOf(o *api.VirtualNode) *metav1.LabelSelector { return o.Spec.PodSelector }

// servedKey returns the mesh and awsName of an object that selects a pod, or an error if it is not served.
func servedKey[T client.Object](r *rules, members *meshMembers[T], o T, pod *corev1.Pod) (model.Key, error) {
	id := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	c, _ := members.byObject.GetFirst(id)
	if oldest, _ := members.byKey.GetFirst(c.key); !c.ok || oldest.object() != id {
		return model.Key{}, fmt.Errorf("%s %s selects pod %s/%s but is not served: %s",
			members.kind, id, id.Namespace, podName(pod), r.whyNotServed(originOf(members.kind, o).Object()))
	}
	return c.key, nil
}

// whyNotServed returns the errors of an object that is not served.
func (r *rules) whyNotServed(object model.ObjectRef) string {
	var texts []string
	for _, f := range r.out.AllFindings() {
		if f.Object == object && f.Severity == model.Error {
			texts = append(texts, string(f.Code)+": "+f.Text)
		}
	}
	if len(texts) == 0 {
		return "see its status"
	}
	return strings.Join(texts, "; ")
}

// matching lists the objects of a namespace whose selector matches a pod.
func matching[T metav1.Object](pod *corev1.Pod, namespace string, objects []T,
	selector func(T) *metav1.LabelSelector) []T {
	var found []T
	for _, o := range objects {
		if o.GetNamespace() == namespace && selects(selector(o), pod.Labels) {
			found = append(found, o)
		}
	}
	return found
}

func exactlyOne[T metav1.Object](found []T, kinds, pod string) (T, error) {
	var none T
	switch len(found) {
	case 0:
		return none, nil
	case 1:
		return found[0], nil
	}
	return none, fmt.Errorf("found multiple matching %s for pod %s: %s", kinds, pod,
		strings.Join(sortedNames(found), ","))
}

func sortedNames[T metav1.Object](objects []T) []string {
	var names []string
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// podName returns the name of a pod, or its generateName.
func podName(pod *corev1.Pod) string {
	if pod.Name == "" {
		return pod.GenerateName
	}
	return pod.Name
}
