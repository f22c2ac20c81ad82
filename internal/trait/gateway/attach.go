package gateway

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/api/gatewayapi"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Names of the listeners of a ListenerSet.
const (
	httpListener  = gatewayv1.SectionName("http")
	httpsListener = gatewayv1.SectionName("https")
)

// attachment says where the HTTPRoutes of a Route are attached.
type attachment struct {
	gateway *gatewayv1.Gateway
	// set is nil if listeners of the Gateway suffice.
	set *gatewayv1.ListenerSet
	// parents are those of the rules, redirect those of the redirection to HTTPS.
	parents, redirect []gatewayv1.ParentReference
}

// attach decides where the HTTPRoutes of a Route are attached, or says what has to be allowed.
func attach(route provider.Route, reader provider.Reader) (attachment, *provider.Reason) {
	gateway, waiting := find(route, reader)
	if waiting != nil {
		return attachment{}, waiting
	}
	a := attachment{gateway: gateway}
	var plain []gatewayv1.ParentReference
	for _, l := range gateway.Spec.Listeners {
		httpRoutes, _ := gatewayapi.RouteKinds(l.AllowedRoutes)
		if l.Protocol == gatewayv1.HTTPProtocolType && gatewayapi.ServesHost(l.Hostname, route.Host) && httpRoutes &&
			gatewayapi.RouteNamespaces(gateway.Namespace, l.AllowedRoutes).Allow(route.Namespace, labelsOf(reader)) {
			plain = append(plain, parent("Gateway", gateway.Namespace, gateway.Name, l.Name))
		}
	}
	if route.TLS == nil && len(plain) > 0 {
		a.parents = plain
		return a, nil
	}
	if waiting := allowsSets(route, gateway, reader); waiting != nil {
		return attachment{}, waiting
	}
	a.set = &gatewayv1.ListenerSet{ObjectMeta: route.Meta(provider.ObjectName(route.Name))}
	a.set.Spec.ParentRef = gatewayv1.ParentGatewayReference{
		Namespace: pointer(gatewayv1.Namespace(gateway.Namespace)), Name: gatewayv1.ObjectName(gateway.Name),
	}
	if len(plain) == 0 && !takes(gateway, route.Host) {
		plain = a.listen(route, gateway, httpListener, gatewayv1.HTTPProtocolType, 80)
	}
	if route.TLS == nil {
		a.parents = plain
		if len(plain) == 0 {
			return attachment{}, notAllowed(route, gateway)
		}
		return a, nil
	}
	a.redirect = plain
	a.parents = a.listen(route, gateway, httpsListener, gatewayv1.HTTPSProtocolType, 443)
	return a, nil
}

// listen adds a listener for the host of the Route to the ListenerSet and returns it as a parent. Its port is that of
// the Gateway's first listener with the same protocol, or the usual one.
func (a *attachment) listen(route provider.Route, gateway *gatewayv1.Gateway, name gatewayv1.SectionName,
	protocol gatewayv1.ProtocolType, port gatewayv1.PortNumber) []gatewayv1.ParentReference {
	for _, l := range gateway.Spec.Listeners {
		if l.Protocol == protocol {
			port = l.Port
			break
		}
	}
	entry := gatewayv1.ListenerEntry{
		Name: name, Hostname: pointer(gatewayv1.Hostname(route.Host)), Port: port, Protocol: protocol,
		AllowedRoutes: &gatewayv1.AllowedRoutes{
			Namespaces: &gatewayv1.RouteNamespaces{From: pointer(gatewayv1.NamespacesFromSame)},
		},
	}
	if protocol == gatewayv1.HTTPSProtocolType {
		entry.TLS = &gatewayv1.ListenerTLSConfig{
			Mode:            pointer(gatewayv1.TLSModeTerminate),
			CertificateRefs: []gatewayv1.SecretObjectReference{{Name: gatewayv1.ObjectName(route.TLS.Secret)}},
		}
	}
	a.set.Spec.Listeners = append(a.set.Spec.Listeners, entry)
	return []gatewayv1.ParentReference{parent("ListenerSet", a.set.Namespace, a.set.Name, name)}
}

// allowsSets returns nil if the Gateway allows ListenerSets of the Route's namespace.
func allowsSets(route provider.Route, gateway *gatewayv1.Gateway, reader provider.Reader) *provider.Reason {
	if !reader.Has(ListenerSetKind) {
		return &provider.Reason{Reason: "NotInstalled", Message: "the cluster does not have the kind ListenerSet of " +
			"gateway.networking.k8s.io/v1, which the host needs for its listener; install a newer version of Gateway API"}
	}
	if gatewayapi.SetNamespaces(gateway).Allow(route.Namespace, labelsOf(reader)) {
		return nil
	}
	return notAllowed(route, gateway)
}

func notAllowed(route provider.Route, gateway *gatewayv1.Gateway) *provider.Reason {
	const allow = "set its spec.allowedListeners.namespaces.from to All, or to Selector with a label of the namespace"
	name := gateway.Namespace + "/" + gateway.Name
	if route.TLS == nil {
		return &provider.Reason{Reason: "NotAllowed", Message: fmt.Sprintf("Gateway %s has no HTTP listener that allows "+
			"HTTPRoutes of the namespace %s for the host %s, and allows no ListenerSet of the namespace; allow the namespace "+
			"in allowedRoutes of an HTTP listener, or %s", name, route.Namespace, route.Host, allow)}
	}
	return &provider.Reason{Reason: "NotAllowed", Message: fmt.Sprintf("Gateway %s allows no ListenerSet of the namespace "+
		"%s, which the certificate of the host %s needs; %s", name, route.Namespace, route.Host, allow)}
}

// takes reports whether the Gateway itself has an HTTP listener for exactly the host, so that the listener of a
// ListenerSet would conflict with it.
func takes(gateway *gatewayv1.Gateway, host string) bool {
	return slices.ContainsFunc(gateway.Spec.Listeners, func(l gatewayv1.Listener) bool {
		return l.Protocol == gatewayv1.HTTPProtocolType && l.Hostname != nil && string(*l.Hostname) == host
	})
}

// labelsOf returns a function that reads the labels of a namespace.
func labelsOf(reader provider.Reader) func(string) (map[string]string, bool) {
	return func(namespace string) (map[string]string, bool) {
		object := reader.Get(provider.NamespaceKind, "", namespace)
		if object == nil {
			return nil, false
		}
		return object.GetLabels(), true
	}
}
