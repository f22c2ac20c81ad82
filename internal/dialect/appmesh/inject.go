package appmesh

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// prefix is that of the annotations and labels of App Mesh's injector.
const prefix = "appmesh.k8s.aws/"

// injectionKey is the pod annotation and namespace label that switches injection: enabled or disabled.
const injectionKey = prefix + "sidecarInjectorWebhook"

// InjectionSelector selects the namespaces whose pods are looked at.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: injectionKey, Operator: metav1.LabelSelectorOpIn, Values: []string{"enabled", "disabled"}},
	}
}

// InjectionMode reads the pod's annotation, else the namespace's label. Other values than the two count as unspecified.
func (Dialect) InjectionMode(pod *corev1.Pod, namespaceLabels map[string]string) dialect.InjectionMode {
	value, ok := pod.Annotations[injectionKey]
	if !ok {
		value = namespaceLabels[injectionKey]
	}
	switch strings.ToLower(value) {
	case "enabled":
		return dialect.InjectionEnabled
	case "disabled":
		return dialect.InjectionDisabled
	}
	return dialect.InjectionUnspecified
}

// NoWorkload is the reason why a pod that should be injected is refused, in the words of App Mesh.
func (Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("sidecarInject enabled but no matching VirtualNode or VirtualGateway found for pod %s in namespace %s; "+
		"create one, or annotate the pod with %s: disabled", podName(pod), pod.Namespace, injectionKey)
}

// InjectionHint says how pods of a namespace get sidecars.
func (Dialect) InjectionHint() string { return "label the namespace " + injectionKey + ": enabled" }

// ReadinessGates lists the gate that App Mesh's injector gave to pods of VirtualNodes with awsCloudMap. New pods are
// not given it.
func (Dialect) ReadinessGates() []dialect.ReadinessGate {
	return []dialect.ReadinessGate{{Type: cloudMapGate, Message: "there is no AWS Cloud Map to wait for"}}
}

// ports of VirtualNode listeners, without those that have none.
func listenerPorts(w model.Workload) []int {
	var out []int
	for _, l := range w.Listeners {
		if l.Port != 0 {
			out = append(out, int(l.Port))
		}
	}
	return out
}
