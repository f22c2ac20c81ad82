// Package ingressobject writes and judges the Ingresses of Routes, for the providers that use Ingresses.
//
// In: a rule of a Route with the class, path and annotations of a provider. Out: the Ingress of the rule, and whether
// the Ingresses of a Route are served.
package ingressobject

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// Options are what a provider decides about the Ingress of a rule.
type Options struct {
	// Class is the name of the IngressClass.
	Class string
	// Path and PathType are those of the only path.
	Path     string
	PathType networkingv1.PathType
	// Annotations may be nil.
	Annotations map[string]string
}

// Name returns the name of the Ingress of a rule.
func Name(route provider.Route, rule provider.Rule) string {
	return provider.ObjectName(route.Name, rule.Name)
}

// New returns the Ingress of a rule.
func New(route provider.Route, rule provider.Rule, o Options) *unstructured.Unstructured {
	object := &networkingv1.Ingress{ObjectMeta: route.Meta(Name(route, rule))}
	if len(o.Annotations) > 0 {
		object.Annotations = o.Annotations
	}
	object.Spec.IngressClassName = &o.Class
	if route.TLS != nil {
		object.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{route.Host}, SecretName: route.TLS.Secret}}
	}
	object.Spec.Rules = []networkingv1.IngressRule{{
		Host: route.Host,
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{
				Path: o.Path, PathType: &o.PathType,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: rule.Backend.Service, Port: networkingv1.ServiceBackendPort{Number: rule.Backend.Port},
				}},
			}},
		}},
	}}
	return provider.Unstructured(provider.IngressKind, object)
}

// State returns whether all Ingresses of a Route have an address, which controllers write when they serve an Ingress.
func State(route provider.Route, reader provider.Reader, class string) provider.State {
	if reader.Get(provider.IngressClassKind, "", class) == nil {
		return provider.State{Waiting: &provider.Reason{
			Reason: "NoIngressClass",
			Message: fmt.Sprintf("there is no IngressClass %s; install its controller, or set spec.ingressClass to one of: %s",
				class, classes(reader)),
		}}
	}
	var out provider.State
	for _, rule := range route.Rules {
		name := route.Namespace + "/" + Name(route, rule)
		object := reader.Get(provider.IngressKind, route.Namespace, Name(route, rule))
		if object == nil {
			out.Waiting = &provider.Reason{Reason: "Creating", Message: fmt.Sprintf("Ingress %s does not exist yet", name)}
			return out
		}
		if entries, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress"); len(entries) == 0 {
			out.Waiting = &provider.Reason{
				Reason: "NoAddress",
				Message: fmt.Sprintf("Ingress %s has no address in its status; check that the controller of IngressClass %s "+
					"runs, and that its Service has an address", name, class),
			}
			return out
		}
		if failure := portError(object); failure != "" {
			out.Waiting = &provider.Reason{
				Reason: "NotServed",
				Message: fmt.Sprintf("Ingress %s is not served: %s; its events (kubectl -n %s describe ingress %s) name the object "+
					"that has the host and path", name, failure, route.Namespace, Name(route, rule)),
			}
			return out
		}
		for _, address := range provider.LoadBalancerAddresses(object) {
			if !slices.Contains(out.Addresses, address) {
				out.Addresses = append(out.Addresses, address)
			}
		}
	}
	return out
}

// portError returns the error of a port in the status of an Ingress; empty if there is none.
func portError(object *unstructured.Unstructured) string {
	entries, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		ports, _, _ := unstructured.NestedSlice(entry, "ports")
		for _, p := range ports {
			port, _ := p.(map[string]any)
			if failure, _ := port["error"].(string); failure != "" {
				return failure
			}
		}
	}
	return ""
}

// classes lists the IngressClasses of the cluster, for messages.
func classes(reader provider.Reader) string {
	var names []string
	for _, c := range reader.List(provider.IngressClassKind, "") {
		names = append(names, c.GetName())
	}
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
