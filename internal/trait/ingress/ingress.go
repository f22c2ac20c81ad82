// Package ingress is the provider for the gateway of Anymesh.
//
// In: a Route. Out: an Ingress of the class anymesh for each rule, with the annotations of package api/ingress, and
// whether the gateway serves it. All fields of a Route are supported.
package ingress

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/trait/ingressobject"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Provider is the provider. It is stateless.
type Provider struct{}

// Names implements provider.Provider.
func (Provider) Names() []string { return []string{"anymesh"} }

// Writes implements provider.Provider.
func (Provider) Writes() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provider.IngressKind}
}

// Reads implements provider.Provider: a default backend needs the ports of its Service.
func (Provider) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provider.IngressClassKind, provider.ServiceKind}
}

// Present implements provider.Provider: an IngressClass names the gateway.
func (Provider) Present(reader provider.Reader) bool {
	for _, c := range reader.List(provider.IngressClassKind, "") {
		if name, _, _ := unstructured.NestedString(c.Object, "spec", "controller"); name == api.Controller {
			return true
		}
	}
	return false
}

// ServesClass implements provider.Classes.
func (Provider) ServesClass(name string, reader provider.Reader) bool {
	return provider.ControllerOf(name, reader) == api.Controller
}

// Render implements provider.Provider. An Ingress of a class of another controller has no annotations, which that one
// does not read.
func (Provider) Render(route provider.Route, reader provider.Reader) provider.Result {
	var out provider.Result
	other := provider.ControllerOf(class(route), reader)
	if other == api.Controller {
		other = ""
	}
	if other != "" {
		out.Unsupported = append(out.Unsupported, provider.Unsupported{Field: "spec.ingressClass", Text: fmt.Sprintf(
			"IngressClass %s is of the controller %s, for which there is no provider: it gets Ingresses with the host, paths, "+
				"backends and certificate only", class(route), other)})
	}
	for _, rule := range route.Rules {
		annotations, not := annotate(route, rule, reader)
		if other != "" {
			annotations, not = nil, foreign(rule, other)
		}
		out.Unsupported = append(out.Unsupported, not...)
		out.Objects = append(out.Objects, ingressobject.New(route, rule, ingressobject.Options{
			Class: class(route), Path: rule.PathPrefix(), PathType: networkingv1.PathTypePrefix, Annotations: annotations,
		}))
	}
	return out
}

func annotate(route provider.Route, rule provider.Rule, reader provider.Reader) (map[string]string,
	[]provider.Unsupported) {
	out := map[string]string{}
	headers, not := rule.SettableHeaders()
	if len(headers) > 0 {
		var all []api.Header
		for _, h := range headers {
			all = append(all, api.Header(h))
		}
		out[api.RequestHeaders] = api.FormatRequestHeaders(all)
	}
	if target := rule.RewriteTarget; target != "" {
		if err := api.CheckPath(target); err != nil {
			not = append(not, rule.Unsupported("rewriteTarget", "the path is not changed: %v", err))
		} else {
			out[api.RewritePrefix] = target
		}
	}
	if rule.ReadTimeout > 0 {
		out[api.ReadTimeout] = rule.ReadTimeout.String()
	}
	switch {
	case rule.SendTimeout == 0:
	case isHTTP2(reader.Get(provider.ServiceKind, route.Namespace, rule.Backend.Service), rule.Backend.Port):
		not = append(not, rule.Unsupported("backend.sendTimeout", "the gateway does not limit pauses between writes to backends "+
			"with HTTP/2; backend.readTimeout limits the time without any byte in either direction"))
	default:
		out[api.SendTimeout] = rule.SendTimeout.String()
	}
	name, more := rule.DefaultService()
	not = append(not, more...)
	if name != "" {
		if port := portOf(reader.Get(provider.ServiceKind, route.Namespace, name), rule.Backend.Port); port != 0 {
			out[api.DefaultBackend] = api.Service{Name: name, Port: port}.String()
		} else {
			not = append(not, rule.Unsupported("defaultBackend", "the default backend is not used: there is no Service %s/%s "+
				"with a TCP port; create it", route.Namespace, name))
		}
	}
	return out, not
}

// foreign are the fields of a rule that the controller of another class does not honor.
func foreign(rule provider.Rule, controller string) []provider.Unsupported {
	var out []provider.Unsupported
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"rewriteTarget", rule.RewriteTarget != ""},
		{"customHeaders", len(rule.Headers) > 0},
		{"backend.readTimeout", rule.ReadTimeout > 0},
		{"backend.sendTimeout", rule.SendTimeout > 0},
		{"defaultBackend", rule.Default != nil},
	} {
		if f.set {
			out = append(out, rule.Unsupported(f.name, "it has no effect with the controller %s", controller))
		}
	}
	return out
}

// portOf returns a TCP port of a Service: the one with the number of the backend's port, else the first. It returns 0
// if there is none.
func portOf(service *unstructured.Unstructured, preferred int32) int32 {
	if service == nil {
		return 0
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	var first int32
	for _, p := range ports {
		port, _ := p.(map[string]any)
		if protocol, _ := port["protocol"].(string); protocol != "" && protocol != "TCP" {
			continue
		}
		number, _, _ := unstructured.NestedInt64(port, "port")
		if int32(number) == preferred {
			return preferred
		}
		if first == 0 {
			first = int32(number)
		}
	}
	return first
}

// isHTTP2 reports whether the gateway uses HTTP/2 for a port of a Service, which may be nil.
func isHTTP2(service *unstructured.Unstructured, number int32) bool {
	if service == nil {
		return false
	}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	return slices.ContainsFunc(ports, func(p any) bool {
		port, _ := p.(map[string]any)
		n, _, _ := unstructured.NestedInt64(port, "port")
		protocol, _ := port["appProtocol"].(string)
		return int32(n) == number && slices.Contains(api.HTTP2Protocols, protocol)
	})
}

// State implements provider.Provider.
func (Provider) State(route provider.Route, reader provider.Reader) provider.State {
	return ingressobject.State(route, reader, class(route))
}

func class(route provider.Route) string {
	if route.Class != "" {
		return route.Class
	}
	return api.Class
}
