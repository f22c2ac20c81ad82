package check

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

const (
	// failedCreate is the reason of events of controllers that cannot create a pod.
	failedCreate = "FailedCreate"
	// podWebhook is the end of the names of the webhooks for pods.
	podWebhook = `.pods.anymesh.dev" denied the request: `
)

// refused reports workloads whose pods the webhooks refuse: those with an event about it that still lack pods.
func refused(ctx context.Context, c *Cluster) (string, error) {
	events, err := c.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=" + failedCreate})
	if err != nil {
		return "", warn("the events of the cluster cannot be read: %v", err)
	}
	last := map[corev1.ObjectReference]corev1.Event{}
	for _, e := range events.Items {
		if e.Reason != failedCreate || !strings.Contains(e.Message, podWebhook) {
			continue
		}
		of := corev1.ObjectReference{
			APIVersion: e.InvolvedObject.APIVersion, Kind: e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace,
			Name: e.InvolvedObject.Name, UID: e.InvolvedObject.UID,
		}
		if known, there := last[of]; !there || known.LastTimestamp.Before(&e.LastTimestamp) {
			last[of] = e
		}
	}
	found := map[string]string{}
	for of, e := range last {
		name, lacks, err := lacksPods(ctx, c, of)
		if err != nil {
			return "", err
		}
		if lacks {
			_, why, _ := strings.Cut(e.Message, podWebhook)
			found[name] = fmt.Sprintf("%s: %s", name, why)
		}
	}
	if len(found) > 0 {
		return "", warn("the pods of %s are refused: %s", terminal.Count(len(found), "workload", "workloads"), some(found))
	}
	return "", nil
}

// lacksPods reports whether a controller of pods lacks some, with its display name: that of the Deployment for a
// ReplicaSet. An object that was deleted or created again lacks none.
func lacksPods(ctx context.Context, c *Cluster, of corev1.ObjectReference) (name string, lacks bool, err error) {
	var meta metav1.ObjectMeta
	var want, have int32
	apps := c.Kube.AppsV1()
	switch of.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		o, getErr := apps.ReplicaSets(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err = getErr; err == nil {
			meta, want, have = o.ObjectMeta, *o.Spec.Replicas, o.Status.Replicas
		}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		o, getErr := apps.StatefulSets(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err = getErr; err == nil {
			meta, want, have = o.ObjectMeta, *o.Spec.Replicas, o.Status.Replicas
		}
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		o, getErr := apps.DaemonSets(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err = getErr; err == nil {
			meta, want, have = o.ObjectMeta, o.Status.DesiredNumberScheduled, o.Status.CurrentNumberScheduled
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		o, getErr := c.Kube.BatchV1().Jobs(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err = getErr; err == nil {
			meta, want, have = o.ObjectMeta, 1, o.Status.Active+o.Status.Succeeded+o.Status.Failed
		}
	default:
		return "", false, nil
	}
	if apierrors.IsNotFound(err) || err == nil && meta.UID != of.UID {
		return "", false, nil
	}
	if err != nil {
		return "", false, warn("%s %s/%s cannot be read: %v", of.Kind, of.Namespace, of.Name, err)
	}
	kind, name := of.Kind, of.Name
	if owner := metav1.GetControllerOf(&meta); owner != nil {
		kind, name = owner.Kind, owner.Name
	}
	return kind + " " + of.Namespace + "/" + name, have < want, nil
}
