package gatewayapi

import (
	"cmp"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	attach "anymesh.dev/anymesh/api/gatewayapi"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// parentKey is a Gateway or a ListenerSet.
type parentKey struct{ kind, namespace, name string }

// listenerKey is a listener of a parent. Without name, it is the parent.
type listenerKey struct {
	parentKey
	section gatewayv1.SectionName
}

// attachedTo is a listener of a Gateway or a ListenerSet.
type attachedTo struct {
	index   int // in the list of listeners
	section gatewayv1.SectionName
	// number is the port for clients, port that of the gateway's pods.
	number gatewayv1.PortNumber
	port   uint16
	host   *gatewayv1.Hostname
	// secret is the Secret with the certificate, empty for plain HTTP.
	secret string
	routes attach.Namespaces
	// origin is the reference to the Secret.
	origin model.Origin
	// accepted and resolved are its conditions. It serves only if served is true.
	accepted, resolved condition
	served             bool
}

func (l attachedTo) compare(other attachedTo) int {
	return cmp.Or(cmp.Compare(l.index, other.index), strings.Compare(string(l.section), string(other.section)))
}

// certificateField is the field of a listener that names its Secret.
const certificateField = "spec.listeners[%d].tls.certificateRefs[0]"

// newListener checks a listener of a Gateway or ListenerSet.
func newListener(at model.Origin, namespace string, index int, l gatewayv1.Listener) attachedTo {
	out := attachedTo{
		origin: at.At(fmt.Sprintf(certificateField, index)),
		index:  index, section: l.Name, number: l.Port, host: l.Hostname,
		routes: attach.RouteNamespaces(namespace, l.AllowedRoutes),
	}
	field := fmt.Sprintf("spec.listeners[%d]", index)
	out.accepted = yes(gatewayv1.ListenerConditionAccepted, gatewayv1.ListenerReasonAccepted)
	out.resolved = yes(gatewayv1.ListenerConditionResolvedRefs, gatewayv1.ListenerReasonResolvedRefs)
	refuse := func(reason gatewayv1.ListenerConditionReason, format string, args ...any) {
		if out.accepted.True {
			out.accepted = no(gatewayv1.ListenerConditionAccepted, reason, field+fmt.Sprintf(format, args...))
		}
	}
	switch {
	case l.Protocol != gatewayv1.HTTPProtocolType && l.Protocol != gatewayv1.HTTPSProtocolType:
		refuse(gatewayv1.ListenerReasonUnsupportedProtocol, ".protocol: %s is not supported; use HTTP or HTTPS", l.Protocol)
	case l.Protocol == gatewayv1.HTTPProtocolType && l.Port != 80:
		refuse(gatewayv1.ListenerReasonPortUnavailable, ".port: the gateway serves HTTP on port 80 only")
	case l.Protocol == gatewayv1.HTTPSProtocolType && l.Port != 443:
		refuse(gatewayv1.ListenerReasonPortUnavailable, ".port: the gateway serves HTTPS on port 443 only")
	}
	out.port = gateway.HTTPPort
	if l.Protocol == gatewayv1.HTTPSProtocolType {
		out.port = gateway.HTTPSPort
		out.terminate(namespace, field, l.TLS, refuse)
	} else if l.TLS != nil {
		refuse(gatewayv1.ListenerReasonUnsupportedValue, ".tls: only listeners with the protocol HTTPS have it")
	}
	out.served = out.accepted.True && out.resolved.True
	if httpRoutes, others := attach.RouteKinds(l.AllowedRoutes); others {
		out.served = out.served && httpRoutes
		if out.resolved.True { // a fault of the certificate comes first
			out.resolved = no(gatewayv1.ListenerConditionResolvedRefs, gatewayv1.ListenerReasonInvalidRouteKinds,
				field+".allowedRoutes.kinds: the only kind is HTTPRoute")
		}
	}
	return out
}

// terminate sets the certificate.
func (l *attachedTo) terminate(namespace, field string, tls *gatewayv1.ListenerTLSConfig,
	refuse func(reason gatewayv1.ListenerConditionReason, format string, args ...any)) {
	unresolved := func(reason gatewayv1.ListenerConditionReason, text string) {
		l.resolved = no(gatewayv1.ListenerConditionResolvedRefs, reason, field+".tls.certificateRefs"+text)
	}
	switch {
	case tls == nil || len(tls.CertificateRefs) == 0:
		unresolved(gatewayv1.ListenerReasonInvalidCertificateRef, ": a listener needs a Secret with its certificate")
		return
	case tls.Mode != nil && *tls.Mode != gatewayv1.TLSModeTerminate:
		refuse(gatewayv1.ListenerReasonUnsupportedValue, ".tls.mode: only Terminate is supported")
	case len(tls.Options) > 0:
		refuse(gatewayv1.ListenerReasonUnsupportedValue, ".tls.options: no option is supported")
	case len(tls.CertificateRefs) > 1:
		refuse(gatewayv1.ListenerReasonUnsupportedValue, ".tls.certificateRefs: only one is supported")
	}
	ref := tls.CertificateRefs[0]
	switch {
	case ref.Group != nil && *ref.Group != "" || ref.Kind != nil && *ref.Kind != "Secret":
		unresolved(gatewayv1.ListenerReasonInvalidCertificateRef, "[0]: the only kind is Secret")
	case ref.Namespace != nil && string(*ref.Namespace) != namespace:
		unresolved(gatewayv1.ListenerReasonRefNotPermitted, "[0].namespace: the Secret has to be in the same namespace")
	default:
		l.secret = namespace + "/" + string(ref.Name)
	}
}
