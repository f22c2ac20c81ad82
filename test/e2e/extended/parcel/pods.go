package parcel

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// InjectionSelector selects member namespaces.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: memberLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{"yes"}},
	}
}

// InjectionMode disables injection in namespaces that are not members.
func (Dialect) InjectionMode(_ *corev1.Pod, namespace *corev1.Namespace) dialect.InjectionMode {
	if !member(namespace.Labels) {
		return dialect.InjectionDisabled
	}
	return dialect.InjectionUnspecified
}

// InjectionHint tells users how to enable injection in a namespace.
func (Dialect) InjectionHint() string { return "label the namespace " + memberLabel + ": yes" }

// NoWorkload is never called: InjectionMode never requires injection.
func (Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("no VirtualService selects pod %s", pod.Name)
}

// PodOptions captures the port of the application.
func (Dialect) PodOptions(_ *corev1.Pod, w model.Workload) (dialect.PodOptions, error) {
	return dialect.PodOptions{InboundPorts: []int{int(w.Listeners[0].Port)}, IPv6: true}, nil
}

// WorkloadReads returns the kinds that SelectWorkload reads.
func (Dialect) WorkloadReads() []client.Object {
	return []client.Object{&corev1.Namespace{}, &VirtualService{}}
}

// SelectWorkload returns the VirtualService whose spec.app equals the label app of the pod.
func (Dialect) SelectWorkload(objects []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error) {
	for _, v := range dialect.ObjectsOf[*VirtualService](objects) {
		if v.Namespace == namespace && v.DeletionTimestamp == nil && v.Spec.App == pod.Labels["app"] {
			return workloadOf(v), true, nil
		}
	}
	return model.Key{}, false, nil
}

// Checks lists the additional checks of this dialect.
func (Dialect) Checks() []dialect.Check {
	return []dialect.Check{{
		Code: "ParcelHasMembers", Title: "a namespace is a member of Parcel",
		Meaning: "No namespace is a member: VirtualServices are not served.",
		Remedy:  "Label a namespace " + memberLabel + ": yes.", Run: hasMembers,
	}}
}

func hasMembers(ctx context.Context, c client.Client) (string, error) {
	var all corev1.NamespaceList
	if err := c.List(ctx, &all, client.MatchingLabels{memberLabel: "yes"}); err != nil {
		return "", fmt.Errorf("listing namespaces: %w", err)
	}
	if len(all.Items) == 0 {
		return "", fmt.Errorf("no namespace has the label %s: yes", memberLabel)
	}
	return fmt.Sprintf("members: %d", len(all.Items)), nil
}
