package engine

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/sidecar"
)

// podAnnotations are the annotations of pods that the engine reads.
var podAnnotations = []string{sidecar.ClassAnnotation, sidecar.DNSAnnotation, sidecar.BypassAnnotation}

// TrimPod removes the fields of a pod that neither dialects nor the engine read. It is a transform for the informer
// cache: most objects of a cluster are pods.
func TrimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels,
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: pod.Spec.ServiceAccountName, NodeName: pod.Spec.NodeName,
			HostNetwork:    pod.Spec.HostNetwork,
			ReadinessGates: pod.Spec.ReadinessGates,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs},
	}
	for _, name := range podAnnotations {
		if value, set := pod.Annotations[name]; set {
			if slim.Annotations == nil {
				slim.Annotations = map[string]string{}
			}
			slim.Annotations[name] = value
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady ||
			slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: c.Type}) {
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
		}
	}
	return slim, nil
}

// podChanged reports whether an update of a trimmed pod can change the mesh.
func podChanged(old, now *corev1.Pod) bool {
	return old.UID != now.UID || !maps.Equal(old.Labels, now.Labels) ||
		slices.ContainsFunc(podAnnotations, func(name string) bool {
			return old.Annotations[name] != now.Annotations[name]
		}) ||
		old.Status.Phase != now.Status.Phase ||
		old.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		old.Status.PodIP != now.Status.PodIP || !slices.Equal(old.Status.PodIPs, now.Status.PodIPs) ||
		!slices.EqualFunc(old.Status.Conditions, now.Status.Conditions, func(a, b corev1.PodCondition) bool {
			return a.Type == b.Type && a.Status == b.Status
		})
}
