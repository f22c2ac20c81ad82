package l7mp

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// proxyContainer is the container that users add to pods of sidecars and of gateways, and that becomes the proxy.
const proxyContainer = "l7mp"

// injectionLabel is the label of a namespace whose pods with that container get the proxy of this control plane.
const injectionLabel = "l7mp.io/injection"

const enabled = "enabled"

// InjectionSelector selects the namespaces with the label.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: injectionLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{enabled}},
	}
}

// injectionOrigin is the origin of a workload without listeners.
func injectionOrigin(namespace string) model.Origin {
	return model.NewOrigin(model.ObjectRef{Kind: "Namespace", Name: namespace})
}

// hasContainer reports whether a pod has the container of the proxy.
func hasContainer(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == proxyContainer })
}

// InjectionMode enables injection for pods with the container of the proxy. Proxies are placed by hand, so that other
// pods have none.
func (Dialect) InjectionMode(pod *corev1.Pod, namespace *corev1.Namespace) dialect.InjectionMode {
	if namespace.Labels[injectionLabel] == enabled && hasContainer(pod) {
		return dialect.InjectionEnabled
	}
	return dialect.InjectionDisabled
}

// WorkloadReads returns the kinds that NewWorkload reads; for the key, the labels of a pod are enough.
func (Dialect) WorkloadReads() []client.Object {
	return []client.Object{&corev1.Service{}, &api.VirtualService{}}
}

// SelectWorkload returns the workload of the pod's labels. VirtualServices may select it later.
func (Dialect) SelectWorkload(_ []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error) {
	if !hasContainer(pod) {
		return model.Key{}, false, nil
	}
	return podSetOf(namespace, pod.Labels).workload(), true, nil
}

// NewWorkload returns a workload with the listeners of the VirtualServices of the namespace that select the pod.
func (Dialect) NewWorkload(objects []client.Object, pod *corev1.Pod, key model.Key) model.Workload {
	out := model.Workload{
		Key: key, Role: model.RoleGateway, NodeID: nodeID(key), Origin: injectionOrigin(pod.Namespace),
	}
	service := func(name types.NamespacedName) (*corev1.Service, bool) {
		all := dialect.ObjectsOf[*corev1.Service](objects)
		i := slices.IndexFunc(all, func(s *corev1.Service) bool { return nameOf(s) == name })
		if i < 0 {
			return nil, false
		}
		return all[i], true
	}
	for _, v := range dialect.ObjectsOf[*api.VirtualService](objects) {
		p := newParser(api.KindVirtualService, v, service)
		of, _, _ := p.virtualService(v)
		if of.proxied && of.usable && of.selector.selects(podSetOf(pod.Namespace, pod.Labels)) {
			out.Origin = of.origin
			out.Listeners = append(out.Listeners, of.item(""))
		}
	}
	return out
}

// NoWorkload is not called: each pod with the container has a workload.
func (Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("pod %s has no container %s", pod.Name, proxyContainer)
}

// PodOptions captures nothing: applications speak to the proxy.
func (Dialect) PodOptions(*corev1.Pod, model.Workload) (dialect.PodOptions, error) {
	return dialect.PodOptions{ProxyContainer: proxyContainer}, nil
}

// PreferredFeatures are what proxies of l7mp do, and others do not.
func (Dialect) PreferredFeatures() []model.Feature {
	return []model.Feature{model.ListenerFeature(model.JSONSocket), "route.chain", "route.conversion"}
}

// InjectionHint tells users how to enable injection in a namespace.
func (Dialect) InjectionHint() string {
	return "label the namespace " + injectionLabel + ": " + enabled + ", and name a container of the pod " + proxyContainer
}
