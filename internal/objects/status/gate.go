package status

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// reasonServed is the reason of the pod conditions that this package sets to True.
const reasonServed = "Served"

// closedGates lists the managed readiness gates of a pod whose condition is not True. Pods that are being deleted or
// have terminated need none.
func closedGates(pod *engine.Pod, ours []dialect.ReadinessGate) []dialect.ReadinessGate {
	if pod.Deleting || pod.Terminated {
		return nil
	}
	var out []dialect.ReadinessGate
	of := pod.Settings().Gates
	for _, gate := range ours {
		status, has := of.Lookup(string(gate.Type))
		if has && status != string(corev1.ConditionTrue) {
			out = append(out, gate)
		}
	}
	return out
}

// hasManagedGate reports whether this package manages a readiness gate of a pod.
func (w *Writer) hasManagedGate(pod *engine.Pod) bool {
	of := pod.Settings().Gates
	return slices.ContainsFunc(w.Gates, func(g dialect.ReadinessGate) bool { return of.Has(string(g.Type)) })
}

// reconcileGates sets the conditions of the managed readiness gates of a pod. The engine has a part of the pod, so the
// patch contains only the conditions and the pod's UID.
func (w *Writer) reconcileGates(ctx context.Context, ref model.ObjectRef, pod *engine.Pod) error {
	gates := closedGates(pod, w.Gates)
	if len(gates) == 0 {
		return nil
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	patch, err := gatePatch(pod.GetUID(), gates)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(w.write(ctx, ref, func() error {
		return w.Client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch))
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
