// Package contour is the provider for Contour.
//
// In: a Route. Out: one HTTPProxy with the rules of the Route, the fields that HTTPProxy cannot express, and whether
// Contour accepts the HTTPProxy.
//
// A prefix of an HTTPProxy matches texts and not path elements: "/a" matches "/ab". A rule without rewrite target is
// therefore two routes, for exactly "/a" and for the prefix "/a/". HTTPProxy rewrites paths only of prefixes; a rule with
// rewrite target is a prefix with a condition on the pseudo header ":path".
package contour

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Kind is the kind of the objects.
var Kind = schema.GroupVersionKind{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"}

// variable matches what Contour replaces in the values of headers.
var variable = regexp.MustCompile(`%[A-Z][A-Z0-9_]*(\([^)]*\)(:\d+)?)?%`)

// Provider is the provider. It is stateless.
type Provider struct{}

// Names implements provider.Provider.
func (Provider) Names() []string { return []string{"contour"} }

// Writes implements provider.Provider.
func (Provider) Writes() []schema.GroupVersionKind { return []schema.GroupVersionKind{Kind} }

// Reads implements provider.Provider.
func (Provider) Reads() []schema.GroupVersionKind { return nil }

// Present implements provider.Provider: the cluster has the kind HTTPProxy.
func (Provider) Present(reader provider.Reader) bool { return reader.Has(Kind) }

// Render implements provider.Provider.
func (Provider) Render(route provider.Route, reader provider.Reader) provider.Result {
	if !reader.Has(Kind) {
		return provider.Result{Waiting: notInstalled()}
	}
	var out provider.Result
	host := map[string]any{"fqdn": route.Host}
	if route.TLS != nil {
		host["tls"] = map[string]any{"secretName": route.TLS.Secret}
	}
	var routes []any
	for _, rule := range route.Rules {
		one, not := routesOf(rule)
		routes, out.Unsupported = append(routes, one...), append(out.Unsupported, not...)
	}
	spec := map[string]any{"virtualhost": host, "routes": routes}
	if route.Class != "" {
		spec["ingressClassName"] = route.Class
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(Kind)
	object.SetNamespace(route.Namespace)
	object.SetName(name(route))
	object.SetLabels(route.Meta("").Labels)
	out.Objects = []*unstructured.Unstructured{object}
	return out
}

func notInstalled() *provider.Reason {
	return &provider.Reason{Reason: "NotInstalled", Message: "the cluster does not have the kind HTTPProxy of " +
		"projectcontour.io; install Contour, or choose another spec.provider"}
}

func name(route provider.Route) string { return provider.ObjectName(route.Name) }

// routesOf returns the routes of a rule.
func routesOf(rule provider.Rule) ([]any, []provider.Unsupported) {
	one := map[string]any{"services": []any{map[string]any{
		"name": rule.Backend.Service, "port": int64(rule.Backend.Port),
	}}}
	headers, not := headersOf(rule)
	if len(headers) > 0 {
		one["requestHeadersPolicy"] = map[string]any{"set": headers}
	}
	timeouts, more := timeoutsOf(rule)
	not = append(not, more...)
	if timeouts != nil {
		one["timeoutPolicy"] = timeouts
	}
	if rule.Default != nil {
		not = append(not, rule.Unsupported("defaultBackend", "the default backend is not used: an HTTPProxy has no second "+
			"backend for the time that the first has no ready endpoint; requests get status 503"))
	}
	target := rule.RewriteTarget
	if target != "" {
		if err := api.CheckPath(target); err != nil {
			target, not = "", append(not, rule.Unsupported("rewriteTarget", "the path is not changed: %v", err))
		}
	}
	path := rule.PathPrefix()
	switch {
	case target != "":
		if path == "/" { // Contour replaces exactly the slash
			target = strings.TrimRight(target, "/") + "/"
		}
		one["pathRewritePolicy"] = map[string]any{"replacePrefix": []any{map[string]any{
			"prefix": path, "replacement": target,
		}}}
		conditions := []any{map[string]any{"prefix": path}}
		if path != "/" {
			conditions = append(conditions, map[string]any{"header": map[string]any{
				"name": ":path", "regex": regexp.QuoteMeta(path) + "([/?].*)?",
			}})
		}
		one["conditions"] = conditions
		return []any{one}, not
	case path == "/":
		one["conditions"] = []any{map[string]any{"prefix": "/"}}
		return []any{one}, not
	}
	exact, prefix := one, (&unstructured.Unstructured{Object: one}).DeepCopy().Object
	exact["conditions"] = []any{map[string]any{"exact": path}}
	prefix["conditions"] = []any{map[string]any{"prefix": path + "/"}}
	return []any{exact, prefix}, not
}

func headersOf(rule provider.Rule) ([]any, []provider.Unsupported) {
	headers, not := rule.SettableHeaders()
	var out []any
	for _, h := range headers {
		if found := variable.FindString(h.Value); found != "" {
			not = append(not, rule.Unsupported("customHeaders", "the header %q is not set: Contour replaces %s in its value",
				h.Name, found))
			continue
		}
		if strings.TrimSpace(h.Value) == "" {
			not = append(not, rule.Unsupported("customHeaders", "the header %q is not set: an HTTPProxy does not allow empty "+
				"values", h.Name))
			continue
		}
		out = append(out, map[string]any{"name": h.Name, "value": h.Value})
	}
	return out, not
}

// timeoutsOf returns the timeout policy of a rule. Contour limits the time without any byte in either direction. It
// also limits the time of the whole response, by default to 15 s, which a read timeout does not mean.
func timeoutsOf(rule provider.Rule) (map[string]any, []provider.Unsupported) {
	read, send := rule.ReadTimeout, rule.SendTimeout
	var not []provider.Unsupported
	if read == 0 {
		if send > 0 {
			not = append(not, rule.Unsupported("backend.sendTimeout", "the timeout is not set: an HTTPProxy limits the pause in "+
				"both directions only; set readTimeout, too"))
		}
		return nil, not
	}
	longest := max(read, send)
	for field, t := range map[string]time.Duration{"backend.readTimeout": read, "backend.sendTimeout": send} {
		if t > 0 && t < longest {
			not = append(not, rule.Unsupported(field, "the timeout is %s: an HTTPProxy has one limit for the pause in both "+
				"directions, and it is the longer one", longest))
		}
	}
	return map[string]any{"idle": longest.String(), "response": "infinity"}, not
}

// State implements provider.Provider.
func (Provider) State(route provider.Route, reader provider.Reader) provider.State {
	if !reader.Has(Kind) {
		return provider.State{Waiting: notInstalled()}
	}
	object := reader.Get(Kind, route.Namespace, name(route))
	if object == nil {
		return provider.State{Waiting: &provider.Reason{
			Reason: "Creating", Message: fmt.Sprintf("HTTPProxy %s/%s does not exist yet", route.Namespace, name(route)),
		}}
	}
	valid := provider.ConditionOf(object.Object, "Valid", "status", "conditions")
	if !valid.IsTrue(object.GetGeneration()) {
		return provider.State{Waiting: &provider.Reason{
			Reason: "NotValid",
			Message: fmt.Sprintf("%s is not valid for Contour: %s%s", provider.Describe(object),
				valid.Describe(object.GetGeneration()), errorsOf(object)),
		}}
	}
	return provider.State{Addresses: provider.LoadBalancerAddresses(object)}
}

// errorsOf returns the details of the condition Valid.
func errorsOf(object *unstructured.Unstructured) string {
	var out strings.Builder
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] != "Valid" {
			continue
		}
		list, _, _ := unstructured.NestedSlice(c, "errors")
		for _, e := range list {
			detail, _ := e.(map[string]any)
			if text, _ := detail["message"].(string); text != "" {
				out.WriteString("; " + strings.TrimSuffix(text, "."))
			}
		}
	}
	return out.String()
}
