package route

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// status returns the status of a Route, when its objects are written.
func (n *plan) status(outcome controller.Outcome) controller.Status {
	failure := outcome.Forbidden
	if failure == nil {
		failure = n.failure
	}
	if failure == nil {
		failure = outcome.Problem
	}
	fields := map[string]any{"status": "Ready"}
	ready := core.Condition{Type: controller.Ready, Status: metav1.ConditionTrue, Reason: "Available", Message: n.served()}
	synced := core.Condition{Type: controller.Synced, Status: metav1.ConditionTrue, Reason: "ReconcileSuccess"}
	switch {
	case failure != nil:
		fields["status"] = "Synced"
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, failure.Reason, failure.Message
		synced.Status, synced.Reason, synced.Message = metav1.ConditionFalse, "ReconcileError", failure.Message
	case n.waiting != nil:
		fields["status"] = "Synced"
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, n.waiting.Reason, n.waiting.Message
		if n.choice != "" {
			ready.Message += fmt.Sprintf(" (provider: %s)", n.choice)
		}
	}
	conditions := []core.Condition{ready, synced}
	if len(n.unsupported) > 0 {
		conditions = append(conditions, core.Condition{
			Type: controller.PartiallySupported, Status: metav1.ConditionTrue, Reason: "FieldsNotSupported",
			Message: unsupportedText(n.unsupported),
		})
	}
	if n.failure != nil || outcome.Forbidden != nil {
		n.keepReferences(fields)
	} else {
		n.addReferences(fields, outcome)
	}
	return controller.Status{Fields: fields, Conditions: conditions}
}

// served says how the host is served.
func (n *plan) served() string {
	if n.serving == nil {
		return "the Route has " + n.choice
	}
	scheme := "http"
	if n.route.Spec.TLS != nil {
		scheme = "https"
	}
	text := fmt.Sprintf("%s://%s is served by the provider %s", scheme, normalHost(n.route.Spec.Host), n.choice)
	if len(n.addresses) > 0 {
		text += ", at " + strings.Join(n.addresses, ", ")
	}
	return text
}

func unsupportedText(all []provider.Unsupported) string {
	var out []string
	for _, u := range all {
		out = append(out, u.Field+": "+u.Text)
	}
	return strings.Join(out, "; ")
}

// addReferences adds the references to the objects that exist.
func (n *plan) addReferences(fields map[string]any, outcome controller.Outcome) {
	var ingresses []any
	for _, o := range n.serving {
		if ref := reference(o, outcome); ref.UID != "" {
			ingresses = append(ingresses, referenceFields(ref))
		}
	}
	if len(ingresses) > 0 {
		fields["ingresses"] = ingresses
	}
	if n.service != "" {
		service := &unstructured.Unstructured{}
		service.SetGroupVersionKind(discovery.ServiceKind)
		service.SetNamespace(n.route.Namespace)
		service.SetName(n.service)
		fields["service"] = referenceFields(reference(service, outcome))
	}
}

// keepReferences keeps the references of the status, because the objects are kept.
func (n *plan) keepReferences(fields map[string]any) {
	var ingresses []any
	for _, ref := range n.route.Status.Ingresses {
		ingresses = append(ingresses, referenceFields(ref))
	}
	if len(ingresses) > 0 {
		fields["ingresses"] = ingresses
	}
	if ref := n.route.Status.Service; ref != nil {
		fields["service"] = referenceFields(*ref)
	}
}

func referenceFields(ref core.TypedReference) map[string]any {
	out := map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name}
	if ref.UID != "" {
		out["uid"] = ref.UID
	}
	return out
}
