package appmesh

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// prefix is the prefix of annotations and labels of App Mesh's injector.
const prefix = "appmesh.k8s.aws/"

// injectionKey is the pod annotation and namespace label that enables or disables injection.
const injectionKey = prefix + "sidecarInjectorWebhook"

// InjectionSelector selects the namespaces whose pods are sent to the webhook. A selector would compare values with
// case, so that InjectionMode compares them.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: injectionKey, Operator: metav1.LabelSelectorOpExists},
	}
}

// InjectionMode reads the annotation of the pod, else the label of the namespace, without regard to case. Another value
// of the annotation counts as unspecified; with another value of the label, pods get no sidecar.
func (Dialect) InjectionMode(pod *corev1.Pod, namespace *corev1.Namespace) dialect.InjectionMode {
	value, annotated := pod.Annotations[injectionKey]
	labeled := false
	if !annotated {
		value, labeled = namespace.Labels[injectionKey]
	}
	switch strings.ToLower(value) {
	case "enabled":
		return dialect.InjectionEnabled
	case "disabled":
		return dialect.InjectionDisabled
	}
	if labeled {
		return dialect.InjectionDisabled
	}
	return dialect.InjectionUnspecified
}

// NoWorkload returns the denial of a pod with injection enabled that no workload selects, with the text of App Mesh.
func (Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("sidecarInject enabled but no matching VirtualNode or VirtualGateway found for pod %s in namespace %s; "+
		"create one, or annotate the pod with %s: disabled", podName(pod), pod.Namespace, injectionKey)
}

// InjectionHint tells users how to enable injection in a namespace.
func (Dialect) InjectionHint() string { return "label the namespace " + injectionKey + ": enabled" }

// ReadinessGates lists the gate that App Mesh's injector added to pods of VirtualNodes with awsCloudMap. New pods do
// not get it.
func (Dialect) ReadinessGates() []dialect.ReadinessGate {
	return []dialect.ReadinessGate{{Type: cloudMapGate, Message: "AWS Cloud Map is not used"}}
}

// listenerPorts returns the ports of the listeners of a workload.
func listenerPorts(w model.Workload) []int {
	var out []int
	for _, l := range w.Listeners {
		if l.Port != 0 {
			out = append(out, int(l.Port))
		}
	}
	return out
}
