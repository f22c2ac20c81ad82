package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podsOf returns the pods with a label that are not being deleted: those of an earlier rollout may still end.
func podsOf(t *testing.T, namespace, label string) []corev1.Pod {
	t.Helper()
	pods, err := lab.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: label})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// podOf returns the only pod with a label that is not being deleted.
func podOf(t *testing.T, namespace, label string) corev1.Pod {
	t.Helper()
	pods := podsOf(t, namespace, label)
	if len(pods) != 1 {
		t.Fatalf("namespace %s has %d pods %s, want one", namespace, len(pods), label)
	}
	return pods[0]
}
