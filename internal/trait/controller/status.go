package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
)

// Types of conditions.
const (
	Ready              = "Ready"
	Synced             = "Synced"
	PartiallySupported = "PartiallySupported"
)

// writeStatus writes the status of an owner if it differs, and an event if the owner became ready or not ready.
func (r *run) writeStatus(ctx context.Context, owner *unstructured.Unstructured, s Status) error {
	before := conditionsOf(owner)
	want, err := statusObject(owner, s, before, metav1.NewTime(r.Now()))
	if err != nil {
		return err
	}
	if !differs(want, owner, "status") {
		return nil
	}
	m, err := r.kinds.get(owner.GroupVersionKind())
	if err != nil || m == nil {
		return err
	}
	content, err := json.Marshal([]any{s, owner.GetGeneration()})
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if r.expected.has(KeyOf(owner), string(content), r.Now()) {
		return nil
	}
	r.statusWrites.Inc()
	r.expected.begin(KeyOf(owner), string(content), r.Now())
	resource := r.resource(m, owner.GetNamespace())
	written, err := resource.ApplyStatus(ctx, owner.GetName(), want,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil && strings.Contains(err.Error(), "field not declared in schema") {
		written, err = patchStatus(ctx, resource, owner, want)
	}
	if err != nil {
		r.expected.cancel(KeyOf(owner))
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	r.expected.written(KeyOf(owner), written.GetResourceVersion())
	r.report(owner, before, s.Conditions)
	return nil
}

// patchStatus writes a status without the fields that the definition of the kind does not have. An apply is an error
// then: the definition is that of another program.
func patchStatus(ctx context.Context, resource dynamic.ResourceInterface, owner, want *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	text, err := json.Marshal(map[string]any{"status": want.Object["status"]})
	if err != nil {
		return nil, err
	}
	return resource.Patch(ctx, owner.GetName(), types.MergePatchType, text,
		metav1.PatchOptions{FieldManager: fieldManager}, "status")
}

// statusObject returns the object to apply: the status with complete conditions.
func statusObject(owner *unstructured.Unstructured, s Status, before []core.Condition,
	now metav1.Time) (*unstructured.Unstructured, error) {
	status := runtime.DeepCopyJSON(s.Fields)
	if status == nil {
		status = map[string]any{}
	}
	var conditions []any
	for _, c := range s.Conditions {
		c.ObservedGeneration = owner.GetGeneration()
		c.LastTransitionTime = now
		if i := indexOf(before, c.Type); i >= 0 && before[i].Status == c.Status {
			c.LastTransitionTime = before[i].LastTransitionTime
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
		if err != nil {
			return nil, fmt.Errorf("condition %s: %w", c.Type, err)
		}
		conditions = append(conditions, content)
	}
	status["conditions"] = conditions
	out := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	out.SetGroupVersionKind(owner.GroupVersionKind())
	out.SetNamespace(owner.GetNamespace())
	out.SetName(owner.GetName())
	return out, nil
}

// conditionsOf returns the conditions of an object.
func conditionsOf(o *unstructured.Unstructured) []core.Condition {
	var status struct {
		Conditions []core.Condition `json:"conditions"`
	}
	content, _ := o.Object["status"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
		return nil // a status that another program wrote: it is replaced
	}
	return status.Conditions
}

func indexOf(conditions []core.Condition, name string) int {
	return slices.IndexFunc(conditions, func(c core.Condition) bool { return c.Type == name })
}

// report records an event if the status or the reason of the condition Ready changed, or of Synced for owners without
// it.
func (r *run) report(owner *unstructured.Unstructured, before, after []core.Condition) {
	name := Ready
	i := indexOf(after, name)
	if i < 0 {
		name = Synced
		i = indexOf(after, name)
	}
	if i < 0 || r.Recorder == nil {
		return
	}
	now := after[i]
	if j := indexOf(before, name); j >= 0 && before[j].Status == now.Status && before[j].Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if k := indexOf(after, Synced); k >= 0 && after[k].Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(owner, nil, kind, now.Reason, "Reconcile", "%s", now.Message)
}
