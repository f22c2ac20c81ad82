package ingress

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// gatewayContainer is the container of the gateway's pods that becomes the proxy.
const gatewayContainer = "proxy"

// InjectionSelector selects the namespace of the gateway.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: gateway.Label, Operator: metav1.LabelSelectorOpIn, Values: []string{gateway.Name}},
	}
}

// InjectionMode requires injection for the pods of the gateway, so that none runs without its proxy while a control
// plane with other settings is replaced. Other pods do not change.
func (Dialect) InjectionMode(pod *corev1.Pod, namespace *corev1.Namespace) dialect.InjectionMode {
	if pod.Labels[gateway.Label] == gateway.Name && namespace.Labels[gateway.Label] == gateway.Name {
		return dialect.InjectionEnabled
	}
	return dialect.InjectionDisabled
}

// NoWorkload returns the denial of a pod of the gateway by a control plane that does not run the gateway.
func (d Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("this control plane runs no gateway in namespace %s: its settings are ingress.enabled %v and "+
		"ingress.namespace %s; the pod is created again after an update", pod.Namespace, d.Enabled, d.Gateway.Namespace)
}

// InjectionHint tells users how the gateway gets its proxy.
func (Dialect) InjectionHint() string { return "set the Helm value ingress.enabled" }

// PodOptions are those of the gateway: nothing is captured, and the agent serves the certificates of Secrets.
func (Dialect) PodOptions(*corev1.Pod, model.Workload) (dialect.PodOptions, error) {
	return dialect.PodOptions{
		ProxyContainer: gatewayContainer, SDSSocket: &dialect.SDSSocket{Path: sidecar.KubernetesSecretsSocket},
	}, nil
}

// WorkloadReads returns the kind that SelectWorkload reads.
func (Dialect) WorkloadReads() []client.Object { return []client.Object{&corev1.Namespace{}} }

// SelectWorkload returns the gateway for its pods.
func (d Dialect) SelectWorkload(_ []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error) {
	return gateway.Key, d.Enabled && d.Gateway.Includes(labels.Set(pod.Labels), namespace), nil
}
