package ingress

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
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
	at := originOf(gatewayv1.GroupName, "GatewayClass", class, store.CreatedAt(class))
	r.states.Emit(at.Object(), state{conditions: []condition{accepted}})
}

// namespaceSelection is a selection of namespaces by an object in the namespace own.
type namespaceSelection struct {
	own      string
	from     gatewayv1.FromNamespaces
	selector *metav1.LabelSelector
}

// has reports whether the selection has a namespace.
func (s namespaceSelection) has(namespace string,
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]) bool {
	switch s.from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return s.own == namespace
	case gatewayv1.NamespacesFromSelector:
		object, known := namespaces.ReadFirst(types.NamespacedName{Name: namespace})
		matcher, err := metav1.LabelSelectorAsSelector(s.selector)
		return known && err == nil && matcher.Matches(labels.Set(object.Labels))
	}
	return false
}

// routeNamespaces returns the namespaces whose routes a listener allows.
func routeNamespaces(own string, allowed *gatewayv1.AllowedRoutes) namespaceSelection {
	out := namespaceSelection{own: own, from: gatewayv1.NamespacesFromSame}
	if allowed != nil && allowed.Namespaces != nil {
		out.selector = allowed.Namespaces.Selector
		if allowed.Namespaces.From != nil {
			out.from = *allowed.Namespaces.From
		}
	}
	return out
}

// setNamespaces returns the namespaces whose ListenerSets a Gateway allows.
func setNamespaces(gateway *gatewayv1.Gateway) namespaceSelection {
	out := namespaceSelection{own: gateway.Namespace, from: gatewayv1.NamespacesFromNone}
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		out.selector = allowed.Namespaces.Selector
		if allowed.Namespaces.From != nil {
			out.from = *allowed.Namespaces.From
		}
	}
	return out
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
