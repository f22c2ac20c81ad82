package status

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// reasonServed is the reason of the pod conditions that this package sets to True.
const reasonServed = "Served"

// closedGates lists the managed readiness gates of a pod whose condition is not True. Pods that are being deleted or
// have terminated need none.
func closedGates(pod *corev1.Pod, ours []dialect.ReadinessGate) []dialect.ReadinessGate {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	var out []dialect.ReadinessGate
	for _, gate := range pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		i := slices.IndexFunc(ours, func(g dialect.ReadinessGate) bool { return g.Type == gate.ConditionType })
		if !open && i >= 0 {
			out = append(out, ours[i])
		}
	}
	return out
}

// isManaged reports whether this package manages a readiness gate.
func (w *Writer) isManaged(gate corev1.PodReadinessGate) bool {
	return slices.ContainsFunc(w.Gates, func(g dialect.ReadinessGate) bool { return g.Type == gate.ConditionType })
}

// reconcileGates sets the conditions of the managed readiness gates of a pod. The cached pod is trimmed, so the patch
// contains only the conditions and the pod's UID.
func (w *Writer) reconcileGates(ctx context.Context, ref model.ObjectRef, uid types.UID) error {
	pod := &corev1.Pod{}
	if err := w.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	gates := closedGates(pod, w.Gates)
	if pod.UID != uid || len(gates) == 0 {
		return nil
	}
	patch, err := gatePatch(uid, gates)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(w.write(ctx, ref, func() error {
		return w.Client.Status().Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch))
	}))
}

func gatePatch(uid types.UID, gates []dialect.ReadinessGate) ([]byte, error) {
	var conditions []map[string]any
	for _, gate := range gates {
		conditions = append(conditions, map[string]any{
			"type": gate.Type, "status": corev1.ConditionTrue, "reason": reasonServed, "message": gate.Message,
		})
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid}, "status": map[string]any{"conditions": conditions},
	})
}
