package status

import (
	"cmp"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// recordEvents records an event for each condition that becomes True. Those that become False have one after
// warningDelay.
func (w *Writer) recordEvents(ref model.ObjectRef, before, after client.Object) {
	was := conditions(before)
	for kind, c := range conditions(after) {
		switch {
		case was[kind] == c:
		case c.status == string(corev1.ConditionFalse):
			w.pending.add(ref, kind)
		case !w.pending.remove(ref, kind) && was[kind].status == string(corev1.ConditionFalse) && c.reason != "":
			w.Recorder.Eventf(after, nil, corev1.EventTypeNormal, c.reason, "Reconcile", "%s", c.text(kind))
		}
	}
	w.recordWarnings(ref, after)
}

// recordWarnings records an event for each condition that has been False for warningDelay.
func (w *Writer) recordWarnings(ref model.ObjectRef, o client.Object) {
	if w.pending.wait(ref) == 0 {
		return
	}
	for kind, c := range conditions(o) {
		if w.pending.takeDue(ref, kind) && c.status == string(corev1.ConditionFalse) && c.reason != "" {
			w.Recorder.Eventf(o, nil, corev1.EventTypeWarning, c.reason, "Reconcile", "%s", c.text(kind))
		}
	}
}

type conditionText struct{ status, reason, message string }

// text returns the message, or what the condition is.
func (c conditionText) text(kind string) string { return cmp.Or(c.message, kind+" is "+c.status) }

// conditions reads the conditions of an object of any kind: elements of status.conditions (Kubernetes API conventions).
func conditions(o client.Object) map[string]conditionText {
	status := reflect.ValueOf(o).Elem().FieldByName("Status")
	if status.Kind() != reflect.Struct {
		return nil
	}
	list := status.FieldByName("Conditions")
	if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	out := make(map[string]conditionText, list.Len())
	for i := range list.Len() {
		text := func(field string) string {
			if value := list.Index(i).FieldByName(field); value.Kind() == reflect.String {
				return value.String()
			}
			return ""
		}
		out[text("Type")] = conditionText{text("Status"), text("Reason"), text("Message")}
	}
	return out
}
