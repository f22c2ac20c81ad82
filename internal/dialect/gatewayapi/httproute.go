package gatewayapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	attach "anymesh.dev/anymesh/api/gatewayapi"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// httpRouteRule translates HTTPRoutes.
type httpRouteRule struct {
	listeners  *incremental.Reader[parentKey, attachedTo]
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]
	services   *incremental.Reader[types.NamespacedName, *corev1.Service]
	hosts      gateway.Hosts
	attached   *incremental.Emitter[listenerKey, model.ObjectRef]
	members    members
	findings   store.Output[model.ObjectRef, model.Finding]
}

// served is a host on a port of the gateway's pods.
type served struct {
	host string
	port uint16
}

func (r *httpRouteRule) evaluate(_ types.NamespacedName, all []*gatewayv1.HTTPRoute) {
	o := all[0]
	if o.DeletionTimestamp != nil {
		return
	}
	at := originOf("HTTPRoute", o)
	paths, unsupported := routePaths(o, at)
	resolved := r.resolve(o)
	var state state
	hosts := map[served]bool{}
	for i, ref := range o.Spec.ParentRefs {
		key, is := parentKeyOf(ref, o.Namespace)
		listeners := r.listeners.Read(key)
		if !is || len(listeners) == 0 {
			continue // of another controller
		}
		accepted := r.attach(o, i, key, listeners, unsupported, at, hosts)
		if unsupported == "" {
			r.members.report(at.At(fmt.Sprintf("spec.parentRefs[%d]", i)), accepted, "the HTTPRoute is not served there")
		}
		state.parents = append(state.parents, parentState{ref, []condition{accepted, resolved}})
	}
	if len(state.parents) == 0 {
		return
	}
	r.members.emit(at.Object(), state)
	r.reportBackends(o, at)
	if field, text, is := strings.Cut(unsupported, " "); is {
		r.findings.Emit(model.NewFinding(at.At(strings.TrimSuffix(field, ":")), model.CodeFieldNotImplemented,
			text+"; the HTTPRoute is not served"))
	}
	for on := range hosts {
		for _, p := range paths {
			p.Port = on.port
			if p.Redirect != nil {
				to := *p.Redirect
				to.Host, p.Redirect = cmp.Or(to.Host, on.host), &to
			}
			r.hosts.Serve(on.host, p)
		}
	}
}

// reportBackends adds findings about backends that are not Services which the route may use.
func (r *httpRouteRule) reportBackends(o *gatewayv1.HTTPRoute, at model.Origin) {
	for i, rule := range o.Spec.Rules {
		for j, b := range rule.BackendRefs {
			if reason, text := refFault(o.Namespace, b); reason != "" {
				field := fmt.Sprintf("spec.rules[%d].backendRefs[%d]", i, j)
				r.members.report(at, no(gatewayv1.RouteConditionResolvedRefs, reason, field+text), "it gets no requests")
			}
		}
	}
}

// attach adds the hosts on the listeners of a parent that serve the route, and returns the condition Accepted.
func (r *httpRouteRule) attach(o *gatewayv1.HTTPRoute, index int, key parentKey, listeners []attachedTo,
	unsupported string, at model.Origin, hosts map[served]bool) condition {
	ref := o.Spec.ParentRefs[index]
	reason, text := gatewayv1.RouteReasonNoMatchingParent, "no listener has the name and port"
	attached := false
	for _, l := range listeners {
		if ref.SectionName != nil && *ref.SectionName != l.section || ref.Port != nil && *ref.Port != l.number {
			continue
		}
		if !l.routes.Allow(o.Namespace, labelsOf(r.namespaces)) {
			if reason == gatewayv1.RouteReasonNoMatchingParent {
				reason, text = gatewayv1.RouteReasonNotAllowedByListeners, "the listener does not allow the namespace"
			}
			continue
		}
		if !l.served {
			reason, text = gatewayv1.RouteReasonNotAllowedByListeners, "listener "+string(l.section)+" is not served: "+
				cmp.Or(l.accepted.Message, l.resolved.Message, "the object with the listener is not accepted")
			continue
		}
		for _, h := range o.Spec.Hostnames {
			host := strings.ToLower(string(h))
			if !attach.ServesHost(l.host, host) || unsupported != "" {
				continue
			}
			attached = true
			hosts[served{host, l.port}] = true
			r.attached.Emit(listenerKey{key, l.section}, at.Object())
			if l.secret != "" {
				r.hosts.Secure(host, l.secret, l.origin)
			}
		}
		if !attached {
			reason, text = gatewayv1.RouteReasonNoMatchingListenerHostname, "no listener has one of the host names"
		}
	}
	switch {
	case unsupported != "":
		return no(gatewayv1.RouteConditionAccepted, gatewayv1.RouteReasonUnsupportedValue, unsupported)
	case !attached:
		return no(gatewayv1.RouteConditionAccepted, reason, text)
	}
	return yes(gatewayv1.RouteConditionAccepted, gatewayv1.RouteReasonAccepted)
}

// resolve returns the condition ResolvedRefs.
func (r *httpRouteRule) resolve(o *gatewayv1.HTTPRoute) condition {
	for i, rule := range o.Spec.Rules {
		for j, b := range rule.BackendRefs {
			field := fmt.Sprintf("spec.rules[%d].backendRefs[%d]", i, j)
			bad := func(reason gatewayv1.RouteConditionReason, text string) condition {
				return no(gatewayv1.RouteConditionResolvedRefs, reason, field+text)
			}
			if reason, text := refFault(o.Namespace, b); reason != "" {
				return bad(reason, text)
			}
			service, known := r.services.ReadFirst(types.NamespacedName{Namespace: o.Namespace, Name: string(b.Name)})
			if !known || !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *b.Port }) {
				return bad(gatewayv1.RouteReasonBackendNotFound, fmt.Sprintf(
					": Service %s/%s with port %d does not exist", o.Namespace, b.Name, *b.Port))
			}
		}
	}
	return yes(gatewayv1.RouteConditionResolvedRefs, gatewayv1.RouteReasonResolvedRefs)
}

// refFault returns why a backend cannot be used, or "".
func refFault(namespace string, b gatewayv1.HTTPBackendRef) (gatewayv1.RouteConditionReason, string) {
	switch {
	case b.Group != nil && *b.Group != "" || b.Kind != nil && *b.Kind != "Service":
		return gatewayv1.RouteReasonInvalidKind, ".kind: the only kind is Service"
	case b.Namespace != nil && string(*b.Namespace) != namespace:
		return gatewayv1.RouteReasonRefNotPermitted, ".namespace: the Service has to be in the namespace of the HTTPRoute"
	case b.Port == nil:
		return gatewayv1.RouteReasonBackendNotFound, ".port: a Service needs a port"
	}
	return "", ""
}
