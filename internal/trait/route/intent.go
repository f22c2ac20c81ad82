package route

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// autoCreated is the name of the rule of a Route without rules.
const autoCreated = "auto-created"

// isLocal reports whether a host is empty or means the machine of the client: localhost, a name below it, or a loopback
// address.
func isLocal(host string) bool {
	host = normalHost(host)
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

// normalHost returns a host name in lower case, without the dot of the root.
func normalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
}

// intentOf returns what a Route asks a provider for. The backends are those of its rules.
func intentOf(route *standard.Route, backends []provider.Backend) (provider.Route, *provider.Reason) {
	out := provider.Route{
		Namespace: route.Namespace, Name: route.Name, Labels: route.Labels, Host: normalHost(route.Spec.Host),
		Class: route.Spec.IngressClass,
	}
	check := validation.IsDNS1123Subdomain
	if strings.HasPrefix(out.Host, "*.") {
		check = validation.IsWildcardDNS1123Subdomain
	}
	if _, err := netip.ParseAddr(strings.Trim(out.Host, "[]")); err == nil {
		return out, invalid("InvalidHost", "spec.host: %q is an IP address; use a host name", route.Spec.Host)
	}
	if faults := check(out.Host); len(faults) > 0 {
		return out, invalid("InvalidHost", "spec.host: %q is not a host name: %s", route.Spec.Host, faults[0])
	}
	rules := route.Spec.Rules
	if len(rules) == 0 {
		rules = []standard.Rule{{Name: autoCreated}}
	}
	names := map[string]int{}
	for i, rule := range rules {
		one, failure := ruleOf(rule, i)
		if failure != nil {
			return out, failure
		}
		if first, taken := names[one.Name]; taken {
			return out, invalid("DuplicateRuleName", "spec.rules[%d].name: %q is also the name of spec.rules[%d] (the default "+
				"is the index); give each rule a name of its own", i, one.Name, first)
		}
		names[one.Name] = i
		one.Backend = backends[i]
		out.Rules = append(out.Rules, one)
	}
	return out, nil
}

func ruleOf(rule standard.Rule, i int) (provider.Rule, *provider.Reason) {
	field := fmt.Sprintf("spec.rules[%d]", i)
	out := provider.Rule{
		Name: cmp.Or(rule.Name, strconv.Itoa(i)), Path: cmp.Or(rule.Path, "/"), RewriteTarget: rule.RewriteTarget,
		Field: field,
	}
	if faults := validation.IsDNS1123Label(out.Name); len(faults) > 0 {
		return out, invalid("InvalidRuleName", "%s.name: %q is not valid: %s", field, rule.Name, faults[0])
	}
	if !strings.HasPrefix(out.Path, "/") {
		return out, invalid("InvalidPath", "%s.path: %q does not begin with /; add it", field, rule.Path)
	}
	if out.RewriteTarget != "" && !strings.HasPrefix(out.RewriteTarget, "/") {
		return out, invalid("InvalidPath", "%s.rewriteTarget: %q does not begin with /; add it", field, rule.RewriteTarget)
	}
	for _, name := range slices.Sorted(maps.Keys(rule.CustomHeaders)) {
		value := rule.CustomHeaders[name]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return out, invalid("InvalidHeader", "%s.customHeaders: %q: %q is not a header of HTTP; correct it", field, name, value)
		}
		out.Headers = append(out.Headers, provider.Header{Name: name, Value: value})
	}
	slices.SortFunc(out.Headers, func(a, b provider.Header) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for j := 1; j < len(out.Headers); j++ {
		if a, b := out.Headers[j-1].Name, out.Headers[j].Name; strings.EqualFold(a, b) {
			return out, invalid("InvalidHeader", "%s.customHeaders: %s and %s are the same header; remove one", field, a, b)
		}
	}
	if b := rule.Backend; b != nil {
		for _, timeout := range []struct {
			name    string
			seconds int
		}{{"readTimeout", b.ReadTimeout}, {"sendTimeout", b.SendTimeout}} {
			if timeout.seconds < 0 || timeout.seconds > maxTimeout {
				return out, invalid("InvalidTimeout", "%s.backend.%s: %d is not a number of seconds from 0 to %d", field,
					timeout.name, timeout.seconds, maxTimeout)
			}
		}
		out.ReadTimeout = time.Duration(b.ReadTimeout) * time.Second
		out.SendTimeout = time.Duration(b.SendTimeout) * time.Second
	}
	ref, failure := defaultOf(rule.DefaultBackend, field)
	out.Default = ref
	return out, failure
}

// maxTimeout is the longest timeout in seconds: a year.
const maxTimeout = 365 * 24 * 3600

// defaultOf returns the object of a default backend. Its group is that of its apiVersion.
func defaultOf(ref *core.TypedReference, field string) (*provider.ObjectRef, *provider.Reason) {
	if ref == nil || *ref == (core.TypedReference{}) {
		return nil, nil
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || ref.Kind == "" || ref.Name == "" {
		return nil, invalid("InvalidDefaultBackend", "%s.defaultBackend: set apiVersion (GROUP/VERSION, or v1), kind and name",
			field)
	}
	return &provider.ObjectRef{Group: version.Group, Kind: ref.Kind, Name: ref.Name}, nil
}

func invalid(reason, format string, args ...any) *provider.Reason {
	return &provider.Reason{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
