package gatewayapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// gatewayClassRule adds the GatewayClasses of this gateway.
type gatewayClassRule struct {
	classes *incremental.Emitter[string, struct{}]
	states  *incremental.Emitter[model.ObjectRef, state]
}

func (r *gatewayClassRule) evaluate(id types.NamespacedName, all []*gatewayv1.GatewayClass) {
	class := all[0]
	if class.Spec.ControllerName != api.Controller || class.DeletionTimestamp != nil {
		return
	}
	accepted := yes(gatewayv1.GatewayClassConditionStatusAccepted, gatewayv1.GatewayClassReasonAccepted)
	if class.Spec.ParametersRef != nil {
		accepted = no(gatewayv1.GatewayClassConditionStatusAccepted, gatewayv1.GatewayClassReasonInvalidParameters,
			"spec.parametersRef is not supported; remove it")
	} else {
		r.classes.Emit(id.Name, struct{}{})
	}
	at := originOf("GatewayClass", class)
	r.states.Emit(at.Object(), state{conditions: []condition{accepted}})
}

// labelsOf returns a function that reads the labels of a namespace.
func labelsOf(
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace],
) func(string) (map[string]string, bool) {
	return func(name string) (map[string]string, bool) {
		namespace, known := namespaces.ReadFirst(types.NamespacedName{Name: name})
		if !known {
			return nil, false
		}
		return namespace.Labels, true
	}
}

// gatewayFault returns why a Gateway is not served, or a zero condition.
func gatewayFault(gateway *gatewayv1.Gateway) condition {
	s := gateway.Spec
	for _, f := range []struct {
		set    bool
		field  string
		reason gatewayv1.GatewayConditionReason
	}{
		{len(s.Addresses) > 0, "spec.addresses", gatewayv1.GatewayReasonUnsupportedAddress},
		{s.Infrastructure != nil, "spec.infrastructure", gatewayv1.GatewayReasonInvalidParameters},
		{s.TLS != nil, "spec.tls", gatewayv1.GatewayReasonInvalid},
		{s.DefaultScope != "", "spec.defaultScope", gatewayv1.GatewayReasonInvalid},
	} {
		if f.set {
			return no(gatewayv1.GatewayConditionAccepted, f.reason, fmt.Sprintf("%s is not supported; remove it", f.field))
		}
	}
	return condition{}
}
