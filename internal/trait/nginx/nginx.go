// Package nginx is the provider for ingress-nginx, and for controllers that understand its annotations.
//
// In: a Route. Out: an Ingress for each rule, with annotations that ingress-nginx accepts in its default configuration:
// no snippets. As long as a rule of a host has a rewrite target, ingress-nginx takes all paths of the host for regular
// expressions and ignores their case; all paths of the Route are regular expressions then, so that they match whole
// path elements.
package nginx

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/ingressobject"
	"anymesh.dev/anymesh/internal/trait/provider"
)

const (
	// defaultClass is the class of an installation of ingress-nginx.
	defaultClass = "nginx"
	// controller is spec.controller of the classes of ingress-nginx.
	controller = "k8s.io/ingress-nginx"
	// defaultAnnotation marks the IngressClass for Ingresses without a class.
	defaultAnnotation = "ingressclass.kubernetes.io/is-default-class"
	// domain is the prefix of the annotations.
	domain = "nginx.ingress.kubernetes.io/"
)

var (
	// plainPath are the paths that ingress-nginx accepts with path type Prefix.
	plainPath = regexp.MustCompile(`^/[-A-Za-z0-9/_.]*$`)
	// plainTarget are the rewrite targets that ingress-nginx accepts; "$" begins a variable.
	plainTarget = regexp.MustCompile(`^/[-A-Za-z0-9/_.~:]*$`)
)

// Provider is the provider. It is stateless.
type Provider struct{}

// Names implements provider.Provider.
func (Provider) Names() []string { return []string{"nginx", "nginx-ingress"} }

// Writes implements provider.Provider.
func (Provider) Writes() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provider.IngressKind}
}

// Reads implements provider.Provider.
func (Provider) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provider.IngressClassKind}
}

// Present implements provider.Provider: an IngressClass names ingress-nginx.
func (Provider) Present(reader provider.Reader) bool { return len(classes(reader)) > 0 }

// ServesClass implements provider.Classes.
func (Provider) ServesClass(name string, reader provider.Reader) bool {
	return provider.ControllerOf(name, reader) == controller
}

// Render implements provider.Provider.
func (Provider) Render(route provider.Route, reader provider.Reader) provider.Result {
	var out provider.Result
	className := class(route, reader)
	regex := slices.ContainsFunc(route.Rules, func(r provider.Rule) bool {
		return r.RewriteTarget != "" || !plainPath.MatchString(r.Path)
	})
	for _, rule := range route.Rules {
		annotations := map[string]string{}
		out.Unsupported = append(out.Unsupported, annotate(annotations, rule)...)
		o := ingressobject.Options{
			Class: className, Path: rule.PathPrefix(), PathType: networkingv1.PathTypePrefix, Annotations: annotations,
		}
		if target, ok := annotations[domain+"rewrite-target"]; ok || regex && o.Path != "/" {
			o.Path, o.PathType = pattern(o.Path), networkingv1.PathTypeImplementationSpecific
			annotations[domain+"use-regex"] = "true"
			if ok {
				annotations[domain+"rewrite-target"] = replacement(rule.PathPrefix(), target)
			}
		}
		out.Objects = append(out.Objects, ingressobject.New(route, rule, o))
	}
	return out
}

// annotate sets the annotations of a rule, and the rewrite target as it is in the Route.
func annotate(annotations map[string]string, rule provider.Rule) []provider.Unsupported {
	var not []provider.Unsupported
	if target := rule.RewriteTarget; plainTarget.MatchString(target) {
		annotations[domain+"rewrite-target"] = target
	} else if target != "" {
		not = append(not, rule.Unsupported("rewriteTarget", "the path is not changed: ingress-nginx accepts only letters, "+
			"digits and the characters - _ . ~ : / in a rewrite target"))
	}
	if rule.ReadTimeout > 0 {
		annotations[domain+"proxy-read-timeout"] = seconds(rule.ReadTimeout)
	}
	if rule.SendTimeout > 0 {
		annotations[domain+"proxy-send-timeout"] = seconds(rule.SendTimeout)
	}
	if len(rule.Headers) > 0 {
		not = append(not, rule.Unsupported("customHeaders", "the headers are not set: ingress-nginx sets request headers of "+
			"one Ingress only with snippets, which it denies by default; set them for all Ingresses with proxy-set-headers "+
			"in its ConfigMap, or use another provider"))
	}
	service, more := rule.DefaultService()
	if service != "" {
		annotations[domain+"default-backend"] = service
	}
	return append(not, more...)
}

// pattern returns the regular expression of a path. Its groups are the slash after the path and the rest. ingress-nginx
// tries longer expressions first: the expression of a longer path is longer.
func pattern(path string) string {
	if path == "/" {
		return "/(.*)"
	}
	return regexp.QuoteMeta(path) + "(/|$)(.*)"
}

// replacement returns what the match of the pattern becomes.
func replacement(path, target string) string {
	switch slash := strings.HasSuffix(target, "/"); {
	case path == "/" && slash:
		return target + "$1"
	case path == "/":
		return target + "/$1"
	case slash:
		return target + "$2"
	}
	return target + "$1$2"
}

// seconds returns a duration in whole seconds, and not less than the duration.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// State implements provider.Provider.
func (Provider) State(route provider.Route, reader provider.Reader) provider.State {
	return ingressobject.State(route, reader, class(route, reader))
}

// class returns the class of the Route, else the default of ingress-nginx: the class that is marked, the class nginx,
// or the first.
func class(route provider.Route, reader provider.Reader) string {
	if route.Class != "" {
		return route.Class
	}
	all := classes(reader)
	for _, is := range []func(*unstructured.Unstructured) bool{
		func(c *unstructured.Unstructured) bool { return c.GetAnnotations()[defaultAnnotation] == "true" },
		func(c *unstructured.Unstructured) bool { return c.GetName() == defaultClass },
		func(*unstructured.Unstructured) bool { return true },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i].GetName()
		}
	}
	return defaultClass
}

// classes returns the IngressClasses of ingress-nginx.
func classes(reader provider.Reader) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(reader.List(provider.IngressClassKind, "")),
		func(c *unstructured.Unstructured) bool {
			name, _, _ := unstructured.NestedString(c.Object, "spec", "controller")
			return name != controller
		})
}
