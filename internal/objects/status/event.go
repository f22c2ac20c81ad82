package status

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recordEvents records an event for each condition that changed.
func (w *Writer) recordEvents(before, after client.Object) {
	was := conditions(before)
	for kind, c := range conditions(after) {
		if old := was[kind]; old == c {
			continue
		}
		severity := corev1.EventTypeNormal
		if c.status == string(corev1.ConditionFalse) {
			severity = corev1.EventTypeWarning
		}
		if c.reason != "" &&
			(severity == corev1.EventTypeWarning || was[kind].status == string(corev1.ConditionFalse)) {
			w.Recorder.Eventf(after, nil, severity, c.reason, "Reconcile", "%s",
				cmp.Or(c.message, kind+" is "+c.status))
		}
	}
}

type conditionText struct{ status, reason, message string }

// conditions reads the conditions of an object of any kind.
func conditions(o client.Object) map[string]conditionText {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(withoutSpec(o))
	if err != nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	out := map[string]conditionText{}
	for _, item := range list {
		c, _ := item.(map[string]any)
		text := func(field string) string { s, _ := c[field].(string); return s }
		out[text("type")] = conditionText{text("status"), text("reason"), text("message")}
	}
	return out
}
