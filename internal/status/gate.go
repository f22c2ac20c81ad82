package status

import (
	"context"
	"encoding/json"
	"slices"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reasonServed is the reason of a pod's condition that we keep True.
const reasonServed = "Served"

// closed lists the readiness gates of a pod, among those that are ours to open, that are not open. Pods that are going or have ended
// need none.
func closed(pod *corev1.Pod, ours []corev1.PodConditionType) []corev1.PodConditionType {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	var out []corev1.PodConditionType
	for _, gate := range pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !open && slices.Contains(ours, gate.ConditionType) {
			out = append(out, gate.ConditionType)
		}
	}
	return out
}

// openGates sets the conditions that a pod's readiness waits for and that are ours. The pod may be a slim one: the patch names
// nothing but the conditions, and the pod's unique id.
func (w *Writer) openGates(ctx context.Context, limiter *rate.Limiter, pod *corev1.Pod) error {
	if len(closed(pod, w.Gates)) == 0 {
		return nil
	}
	now := &corev1.Pod{}
	if err := w.Cache.Get(ctx, client.ObjectKeyFromObject(pod), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	gates := closed(now, w.Gates)
	if now.UID != pod.UID || len(gates) == 0 {
		return nil
	}
	patch, err := openingPatch(now.UID, gates)
	if err != nil {
		return err
	}
	if err := limiter.Wait(ctx); err != nil {
		return err
	}
	return client.IgnoreNotFound(w.Client.Status().Patch(ctx, now.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch)))
}

func openingPatch(uid types.UID, gates []corev1.PodConditionType) ([]byte, error) {
	var conditions []map[string]any
	for _, gate := range gates {
		conditions = append(conditions, map[string]any{
			"type": gate, "status": corev1.ConditionTrue, "reason": reasonServed, "message": "there is no AWS Cloud Map to wait for",
		})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": map[string]any{"conditions": conditions}})
}
