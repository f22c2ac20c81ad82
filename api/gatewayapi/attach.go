// Package gatewayapi has the rules of Gateway API by which routes and ListenerSets are attached to listeners and
// Gateways.
//
// In: objects of gateway.networking.k8s.io/v1. Out: the host names, kinds and namespaces that they allow. Those who
// serve these objects and those who write them decide by the same rules.
package gatewayapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ServesHost reports whether a listener with a host name serves a host without wildcard, ignoring case. A listener
// without a host name serves all; "*.example" serves the hosts below example, not example itself.
func ServesHost(listener *gatewayv1.Hostname, host string) bool {
	if listener == nil || *listener == "" {
		return true
	}
	name, host := strings.ToLower(string(*listener)), strings.ToLower(host)
	if suffix, wildcard := strings.CutPrefix(name, "*"); wildcard {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return name == host
}

// Namespaces is a selection of namespaces by an object.
type Namespaces struct {
	own      string // the namespace of the object
	from     gatewayv1.FromNamespaces
	selector *metav1.LabelSelector
}

// RouteNamespaces are the namespaces whose routes a listener of an object in the namespace own allows: by default, its
// own.
func RouteNamespaces(own string, allowed *gatewayv1.AllowedRoutes) Namespaces {
	out := Namespaces{own: own, from: gatewayv1.NamespacesFromSame}
	if allowed != nil && allowed.Namespaces != nil {
		out.set(allowed.Namespaces.From, allowed.Namespaces.Selector)
	}
	return out
}

// SetNamespaces are the namespaces whose ListenerSets a Gateway allows: by default, none.
func SetNamespaces(gateway *gatewayv1.Gateway) Namespaces {
	out := Namespaces{own: gateway.Namespace, from: gatewayv1.NamespacesFromNone}
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		out.set(allowed.Namespaces.From, allowed.Namespaces.Selector)
	}
	return out
}

func (n *Namespaces) set(from *gatewayv1.FromNamespaces, selector *metav1.LabelSelector) {
	n.selector = selector
	if from != nil {
		n.from = *from
	}
}

// Allow reports whether the selection has a namespace. labelsOf returns the labels of a namespace, or false for one
// that does not exist; it is called only if the selection depends on them.
func (n Namespaces) Allow(namespace string, labelsOf func(namespace string) (map[string]string, bool)) bool {
	switch n.from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return n.own == namespace
	case gatewayv1.NamespacesFromSelector:
		set, known := labelsOf(namespace)
		matcher, err := metav1.LabelSelectorAsSelector(n.selector)
		return known && err == nil && matcher.Matches(labels.Set(set))
	}
	return false
}

// HTTPRouteKind is the kind of HTTPRoutes.
const HTTPRouteKind = gatewayv1.Kind("HTTPRoute")

// RouteKinds reports whether a listener for HTTP allows HTTPRoutes, and whether it names other kinds. Without a list of
// kinds, it allows those of its protocol.
func RouteKinds(allowed *gatewayv1.AllowedRoutes) (httpRoutes, others bool) {
	if allowed == nil || len(allowed.Kinds) == 0 {
		return true, false
	}
	for _, k := range allowed.Kinds {
		if k.Kind == HTTPRouteKind && (k.Group == nil || *k.Group == gatewayv1.GroupName) {
			httpRoutes = true
		} else {
			others = true
		}
	}
	return httpRoutes, others
}
