// Package gateway is the provider for implementations of Gateway API.
//
// In: a Route, and the Gateways of the cluster. Out: an HTTPRoute with a rule for each rule of the Route, which is
// attached to HTTP listeners of a Gateway; for TLS, and where the Gateway has no such listener, a ListenerSet with
// listeners for the host; for TLS also an HTTPRoute that redirects plain HTTP. If the Gateway does not allow them, the
// result says what to allow.
package gateway

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// Kinds of Gateway API.
var (
	ClassKind       = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "GatewayClass"}
	GatewayKind     = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}
	HTTPRouteKind   = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "HTTPRoute"}
	ListenerSetKind = schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "ListenerSet"}
)

// DefaultAnnotation with the value "true" marks the Gateway of Routes without a class.
const DefaultAnnotation = "anymesh.dev/default-gateway"

// Provider is the provider. It is stateless.
type Provider struct{}

// Names implements provider.Provider.
func (Provider) Names() []string { return []string{"gateway"} }

// Writes implements provider.Provider.
func (Provider) Writes() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{HTTPRouteKind, ListenerSetKind}
}

// Reads implements provider.Provider: the labels of the namespace decide whether a Gateway allows it.
func (Provider) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{GatewayKind, provider.NamespaceKind}
}

// Present implements provider.Provider: there is a Gateway.
func (Provider) Present(reader provider.Reader) bool {
	return reader.Has(HTTPRouteKind) && len(reader.List(GatewayKind, "")) > 0
}

// ServesClass implements provider.Classes: there is a Gateway of this name, with or without its namespace.
func (Provider) ServesClass(name string, reader provider.Reader) bool {
	return reader.Has(HTTPRouteKind) &&
		slices.ContainsFunc(reader.List(GatewayKind, ""), func(g *unstructured.Unstructured) bool {
			return name == g.GetName() || name == g.GetNamespace()+"/"+g.GetName()
		})
}

// Render implements provider.Provider.
func (Provider) Render(route provider.Route, reader provider.Reader) provider.Result {
	a, waiting := attach(route, reader)
	if waiting != nil {
		return provider.Result{Waiting: waiting}
	}
	var out provider.Result
	if a.set != nil {
		out.Objects = append(out.Objects, provider.Unstructured(ListenerSetKind, a.set))
	}
	for i, rules := range slices.Collect(slices.Chunk(route.Rules, maxRules)) {
		object, not := httpRoute(route, i, rules, a.parents)
		out.Unsupported = append(out.Unsupported, not...)
		out.Objects = append(out.Objects, provider.Unstructured(HTTPRouteKind, object))
	}
	switch {
	case len(a.redirect) > 0:
		out.Objects = append(out.Objects, provider.Unstructured(HTTPRouteKind, redirect(route, a.redirect)))
	case route.TLS != nil:
		out.Unsupported = append(out.Unsupported, provider.Unsupported{Field: "spec.tls", Text: fmt.Sprintf(
			"plain HTTP is not redirected to HTTPS: Gateway %s/%s has an HTTP listener for the host that does not allow "+
				"HTTPRoutes of the namespace %s", a.gateway.Namespace, a.gateway.Name, route.Namespace)})
	}
	return out
}

// find returns the Gateway of a Route.
func find(route provider.Route, reader provider.Reader) (*gatewayv1.Gateway, *provider.Reason) {
	if !reader.Has(GatewayKind) || !reader.Has(HTTPRouteKind) {
		return nil, &provider.Reason{Reason: "NotInstalled", Message: "the cluster does not have the kinds Gateway and " +
			"HTTPRoute of gateway.networking.k8s.io/v1; install Gateway API, or choose another spec.provider"}
	}
	all := reader.List(GatewayKind, "")
	var names, marked, same []string
	for _, g := range all {
		name := g.GetNamespace() + "/" + g.GetName()
		names = append(names, name)
		if g.GetAnnotations()[DefaultAnnotation] == "true" {
			marked = append(marked, name)
		}
		if g.GetName() == route.Class {
			same = append(same, name)
		}
	}
	name, waiting := choose(route, names, marked, same)
	if waiting != nil {
		return nil, waiting
	}
	namespace, local, _ := strings.Cut(name, "/")
	var out gatewayv1.Gateway
	if err := provider.Typed(reader.Get(GatewayKind, namespace, local), &out); err != nil {
		return nil, &provider.Reason{Reason: "InvalidGateway", Message: err.Error()}
	}
	return &out, nil
}

// choose returns the namespace and name of a Route's Gateway: all are the Gateways, marked those that are marked as
// default, and same those that have the class as their name.
func choose(route provider.Route, all, marked, same []string) (string, *provider.Reason) {
	local := route.Namespace + "/" + route.Class
	switch {
	case route.Class == "" && len(marked) == 1:
		return marked[0], nil
	case route.Class == "" && len(marked) == 0 && len(all) == 1:
		return all[0], nil
	case route.Class == "" && len(all) == 0:
		return "", &provider.Reason{Reason: "NoGateway", Message: "the cluster has no Gateway; create one"}
	case route.Class == "":
		return "", &provider.Reason{Reason: "AmbiguousGateway", Message: fmt.Sprintf("the cluster has more than one Gateway: "+
			"%s; set spec.ingressClass to one of them, or the annotation %s to \"true\" on exactly one",
			strings.Join(all, ", "), DefaultAnnotation)}
	case slices.Contains(all, route.Class):
		return route.Class, nil
	case slices.Contains(same, local):
		return local, nil
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return "", &provider.Reason{Reason: "AmbiguousGateway", Message: fmt.Sprintf("spec.ingressClass %q is the name of "+
			"more than one Gateway: %s; write the namespace, too", route.Class, strings.Join(same, ", "))}
	case len(all) == 0:
		return "", &provider.Reason{Reason: "NoGateway", Message: fmt.Sprintf("there is no Gateway %s; create it",
			route.Class)}
	}
	return "", &provider.Reason{Reason: "NoGateway", Message: fmt.Sprintf("there is no Gateway %s; create it, or set "+
		"spec.ingressClass to one of: %s", route.Class, strings.Join(all, ", "))}
}
