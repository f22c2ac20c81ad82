package gatewayapi

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/model"
)

// TestUnsupportedFields checks that an HTTPRoute is refused with the first field that the gateway does not honor.
func TestUnsupportedFields(t *testing.T) {
	const backends = `backendRefs: [{name: web, port: 80}]`
	rule := func(text string) string { return "{hostnames: [a.example], rules: [{" + text + "}]}" }
	for spec, field := range map[string]string{
		rule(backends): "",
		rule(backends + `, matches: [{path: {type: Exact, value: /a}}]`):             "",
		rule(backends + `, timeouts: {request: 10s}`):                                "",
		rule(`filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]`): "",
		`{rules: [{` + backends + `}]}`:                                              "spec.hostnames",
		`{hostnames: ["*.example"], rules: [{` + backends + `}]}`:                    "spec.hostnames[0]",
		rule(``): "spec.rules[0].backendRefs",
		rule(backends + `, matches: [{path: {type: RegularExpression, value: /a}}]`):                                                                                            "spec.rules[0].matches[0].path.type",
		rule(backends + `, matches: [{}, {method: GET}]`):                                                                                                                       "spec.rules[0].matches[1].method",
		rule(backends + `, matches: [{headers: [{name: a, value: b}]}]`):                                                                                                        "spec.rules[0].matches[0].headers",
		rule(backends + `, matches: [{queryParams: [{name: a, value: b}]}]`):                                                                                                    "spec.rules[0].matches[0].queryParams",
		rule(backends + `, retry: {attempts: 2}`):                                                                                                                               "spec.rules[0].retry",
		rule(backends + `, sessionPersistence: {}`):                                                                                                                             "spec.rules[0].sessionPersistence",
		rule(backends + `, timeouts: {backendRequest: 1s}`):                                                                                                                     "spec.rules[0].timeouts.backendRequest",
		rule(backends + `, timeouts: {request: 0s}`):                                                                                                                            "spec.rules[0].timeouts.request",
		rule(backends + `, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: a}}}]`):                                                                           "spec.rules[0].filters[0].type",
		rule(backends + `, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {}}]`):                                                                              "spec.rules[0].filters[0].type",
		rule(backends + `, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [a]}}]`):                                                                     "spec.rules[0].filters[0].requestHeaderModifier",
		rule(backends + `, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: a}]}}]`):                                                   "spec.rules[0].filters[0].requestHeaderModifier.set[0]",
		rule(backends + `, filters: [{type: URLRewrite, urlRewrite: {hostname: b}}]`):                                                                                           "spec.rules[0].filters[0].urlRewrite.hostname",
		rule(backends + `, filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]`):                                                                               "spec.rules[0].filters",
		rule(`filters: [{type: RequestRedirect, requestRedirect: {}}]`):                                                                                                         "spec.rules[0].filters[0].requestRedirect.scheme",
		rule(`filters: [{type: RequestRedirect, requestRedirect: {scheme: https, port: 8443}}]`):                                                                                "spec.rules[0].filters[0].requestRedirect.port",
		rule(`backendRefs: [{name: web, port: 80, filters: [{type: URLRewrite}]}]`):                                                                                             "spec.rules[0].backendRefs[0].filters",
		rule(backends + `, matches: [{path: {type: Exact, value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]`): "spec.rules[0].matches[0].path.type",
	} {
		var o gatewayv1.HTTPRoute
		if err := yaml.UnmarshalStrict([]byte(spec), &o.Spec); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		paths, got := routePaths(&o, model.Origin{})
		name, _, _ := strings.Cut(strings.TrimSuffix(got, " is not supported"), ":")
		if name != field || (field == "") != (len(paths) > 0) {
			t.Errorf("%s: %q with %d paths, want the field %q", spec, got, len(paths), field)
		}
	}
}

// TestListenerConditions checks the conditions of listeners.
func TestListenerConditions(t *testing.T) {
	for spec, want := range map[string]struct {
		accepted, resolved string
		served             bool
	}{
		`{port: 80, protocol: HTTP}`:                                                                   {"Accepted", "ResolvedRefs", true},
		`{port: 8080, protocol: HTTP}`:                                                                 {"PortUnavailable", "ResolvedRefs", false},
		`{port: 80, protocol: TCP}`:                                                                    {"UnsupportedProtocol", "ResolvedRefs", false},
		`{port: 443, protocol: HTTPS}`:                                                                 {"Accepted", "InvalidCertificateRef", false},
		`{port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}]}}`:                            {"Accepted", "ResolvedRefs", true},
		`{port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}, {name: b}]}}`:                 {"UnsupportedValue", "ResolvedRefs", false},
		`{port: 443, protocol: HTTPS, tls: {mode: Passthrough, certificateRefs: [{name: a}]}}`:         {"UnsupportedValue", "ResolvedRefs", false},
		`{port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a, namespace: b}]}}`:              {"Accepted", "RefNotPermitted", false},
		`{port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a, kind: ConfigMap}]}}`:           {"Accepted", "InvalidCertificateRef", false},
		`{port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}}`:                      {"Accepted", "InvalidRouteKinds", false},
		`{port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}, {kind: HTTPRoute}]}}`:   {"Accepted", "InvalidRouteKinds", true},
		`{port: 443, protocol: HTTPS, allowedRoutes: {kinds: [{kind: GRPCRoute}, {kind: HTTPRoute}]}}`: {"Accepted", "InvalidCertificateRef", false},
	} {
		var l gatewayv1.Listener
		if err := yaml.UnmarshalStrict([]byte(spec), &l); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		got := newListener(model.Origin{}, "own", 0, l)
		if got.accepted.Reason != want.accepted || got.resolved.Reason != want.resolved || got.served != want.served {
			t.Errorf("%s: %+v, %+v, served %v; want %+v", spec, got.accepted, got.resolved, got.served, want)
		}
	}
}
