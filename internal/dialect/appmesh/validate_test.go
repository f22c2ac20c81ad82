package appmesh_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

func object(t testing.TB, kind, spec string) client.Object {
	t.Helper()
	return decodeManifests(t, []string{"{kind: " + kind + ", metadata: {name: x, namespace: ns}, spec: " + spec + "}"})[0]
}

// TestCreateRules has for each rule an invalid spec, the field and the text of the denial, and a similar valid spec.
func TestCreateRules(t *testing.T) {
	const (
		get     = `action: {target: {virtualService: {virtualServiceRef: {name: s}}}}`
		to      = `action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}`
		dns     = `serviceDiscovery: {dns: {hostname: h}}`
		http    = `{portMapping: {port: 80, protocol: http}}`
		rewrite = `action: {target: {virtualService: {virtualServiceRef: {name: s}}}, rewrite: `
	)
	for name, c := range map[string]struct{ kind, at, denied, want, accepted string }{
		"mesh: family": {
			"Mesh", "spec.meshServiceDiscovery.ipPreference", `{meshServiceDiscovery: {ipPreference: IPv6_PREFERRED}}`, `Mesh-x: spec.meshServiceDiscovery.ipPreference: "IPv6_PREFERRED" is neither`,
			`{meshServiceDiscovery: {ipPreference: IPv4_ONLY}}`,
		},
		"node: listeners require discovery": {
			"VirtualNode", "spec.serviceDiscovery", `{listeners: [` + http + `]}`, "VirtualNode-x: spec.serviceDiscovery is required",
			`{listeners: [` + http + `], ` + dns + `}`,
		},
		"node: no listeners, no discovery": {
			"VirtualNode", "spec.serviceDiscovery", `{listeners: [` + http + `], serviceDiscovery: {}}`, "VirtualNode-x: spec.serviceDiscovery is required",
			`{}`,
		},
		"node: duplicate references": {
			"VirtualNode", "spec.backends[1].virtualService", `{backends: [{virtualService: {virtualServiceRef: {name: a}}}, {virtualService: {virtualServiceRef: {name: a, namespace: ns}}}]}`,
			"VirtualNode-x has duplicate VirtualServiceReferences ns/a; list each backend once: spec.backends[1].virtualService",
			`{backends: [{virtualService: {virtualServiceRef: {name: a}}}, {virtualService: {virtualServiceRef: {name: a, namespace: other}}}]}`,
		},
		"node: duplicate references, one with an empty namespace": {
			"VirtualNode", "spec.backends[1].virtualService", `{backends: [{virtualService: {virtualServiceRef: {name: a, namespace: ""}}}, {virtualService: {virtualServiceRef: {name: a}}}]}`,
			"VirtualNode-x has duplicate VirtualServiceReferences ns/a;",
			`{backends: [{virtualService: {virtualServiceRef: {name: a, namespace: ""}}}, {virtualService: {virtualServiceRef: {name: b}}}]}`,
		},
		"node: names that look alike when joined": {
			"VirtualNode", "spec.backends[1].virtualService", `{backends: [{virtualService: {virtualServiceRef: {name: a-b, namespace: c}}}, {virtualService: {virtualServiceRef: {name: a-b, namespace: c}}}]}`,
			"duplicate VirtualServiceReferences c/a-b",
			`{backends: [{virtualService: {virtualServiceRef: {name: a-b, namespace: c}}}, {virtualService: {virtualServiceRef: {name: a, namespace: b-c}}}]}`,
		},
		"node: duplicate ARNs": {
			"VirtualNode", "spec.backends[1].virtualService", `{backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/a"}}, {virtualService: {virtualServiceARN: "arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/a"}}]}`,
			"VirtualNode-x has duplicate VirtualServiceReferenceARNs arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/a",
			`{backends: [{virtualService: {virtualServiceARN: "arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/a"}}, {virtualService: {virtualServiceARN: "arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/b"}}]}`,
		},
		"node: two connection pools": {
			"VirtualNode", "spec.listeners[0].connectionPool", `{` + dns + `, listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http: {maxConnections: 1}, tcp: {maxConnections: 1}}}]}`,
			"VirtualNode-x: spec.listeners[0].connectionPool: only one type",
			`{` + dns + `, listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {grpc: {maxRequests: 1}}}]}`,
		},
		"router: duplicate route names": {
			"VirtualRouter", "spec.routes[1].name", `{routes: [{name: a, tcpRoute: {` + to + `}}, {name: a, tcpRoute: {` + to + `}}]}`, "VirtualRouter-x has duplicate route entries for a; give each route a unique name: spec.routes[1].name",
			`{routes: [{name: a, tcpRoute: {` + to + `}}, {name: b, tcpRoute: {` + to + `}}]}`,
		},
		"router: no prefix or path": {
			"VirtualRouter", "spec.routes[0].httpRoute.match", `{routes: [{name: a, httpRoute: {match: {}, ` + to + `}}]}`, "spec.routes[0].httpRoute.match: specify exactly one of prefix and path",
			`{routes: [{name: a, httpRoute: {match: {prefix: /}, ` + to + `}}]}`,
		},
		"router: prefix and path": {
			"VirtualRouter", "spec.routes[0].http2Route.match", `{routes: [{name: a, http2Route: {match: {prefix: /, path: {exact: /}}, ` + to + `}}]}`, "spec.routes[0].http2Route.match: specify exactly one of prefix and path",
			`{routes: [{name: a, http2Route: {match: {path: {exact: /}}, ` + to + `}}]}`,
		},
		"router: empty path match": {
			"VirtualRouter", "spec.routes[0].httpRoute.match.path", `{routes: [{name: a, httpRoute: {match: {path: {}}, ` + to + `}}]}`, "spec.routes[0].httpRoute.match.path: specify exactly one of exact and regex",
			`{routes: [{name: a, httpRoute: {match: {path: {regex: "/.*"}}, ` + to + `}}]}`,
		},
		"router: gRPC is not checked": {
			"VirtualRouter", "spec.routes[0].httpRoute.match.path", `{routes: [{name: a, httpRoute: {match: {path: {exact: /, regex: /}}, ` + to + `}}]}`, "exactly one of exact and regex",
			`{routes: [{name: a, grpcRoute: {match: {methodName: m}, ` + to + `}}, {name: b, tcpRoute: {` + to + `}}]}`,
		},
		"gateway: two connection pools": {
			"VirtualGateway", "spec.listeners[0].connectionPool", `{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http: {maxConnections: 1}, http2: {maxRequests: 1}}}]}`,
			"VirtualGateway-x: spec.listeners[0].connectionPool: only one type",
			`{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http2: {maxRequests: 1}}}]}`,
		},
		"gateway route: no route": {
			"GatewayRoute", "spec", `{}`, "GatewayRoute-x: spec: no route specified", `{httpRoute: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: two routes": {
			"GatewayRoute", "spec", `{httpRoute: {match: {prefix: /}, ` + get + `}, http2Route: {match: {prefix: /}, ` + get + `}}`, "spec: multiple routes specified",
			`{http2Route: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: no path or host": {
			"GatewayRoute", "spec.httpRoute.match", `{httpRoute: {match: {method: GET}, ` + get + `}}`, "spec.httpRoute.match: either prefix, path or hostname",
			`{httpRoute: {match: {hostname: {exact: h}}, ` + get + `}}`,
		},
		"gateway route: prefix and path": {
			"GatewayRoute", "spec.http2Route.match", `{http2Route: {match: {prefix: /, path: {exact: /}}, ` + get + `}}`, "spec.http2Route.match: both prefix and path",
			`{http2Route: {match: {path: {exact: /}}, ` + get + `}}`,
		},
		"gateway route: exact and suffix host": {
			"GatewayRoute", "spec.httpRoute.match.hostname", `{httpRoute: {match: {hostname: {exact: h, suffix: h}}, ` + get + `}}`, "match.hostname: specify exactly one",
			`{httpRoute: {match: {hostname: {suffix: .h}}, ` + get + `}}`,
		},
		"gateway route: empty host match": {
			"GatewayRoute", "spec.httpRoute.match.hostname", `{httpRoute: {match: {prefix: /, hostname: {}}, ` + get + `}}`, "match.hostname: specify exactly one",
			`{httpRoute: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: two conditions on a header": {
			"GatewayRoute", "spec.http2Route.match.headers[0].match", `{http2Route: {match: {prefix: /, headers: [{name: h, match: {exact: a, prefix: b}}]}, ` + get + `}}`, "spec.http2Route.match.headers[0].match: specify exactly one",
			`{http2Route: {match: {prefix: /, headers: [{name: h, match: {prefix: b}}]}, ` + get + `}}`,
		},
		"gateway route: no condition on a header": {
			"GatewayRoute", "spec.httpRoute.match.headers[1].match", `{httpRoute: {match: {prefix: /, headers: [{name: h}, {name: i, match: {}}]}, ` + get + `}}`, "match.headers[1].match: specify exactly one",
			`{httpRoute: {match: {prefix: /, headers: [{name: h}, {name: i, match: {exact: v}}]}, ` + get + `}}`,
		},
		"gateway route: empty range": {
			"GatewayRoute", "spec.httpRoute.match.headers[1].match.range", `{httpRoute: {match: {prefix: /, headers: [{name: h, match: {range: {start: 1, end: 2}}}, {name: i, match: {range: {start: 2, end: 2}}}]}, ` + get + `}}`,
			"match.headers[1].match.range: start must be below end",
			`{httpRoute: {match: {prefix: /, headers: [{name: h, match: {range: {start: 1, end: 2}}}, {name: i, match: {range: {start: 2, end: 3}}}]}, ` + get + `}}`,
		},
		"gateway route: query parameter without exact": {
			"GatewayRoute", "spec.httpRoute.match.queryParameters[0].match", `{httpRoute: {match: {prefix: /, headers: [{name: h}], queryParameters: [{name: q, match: {}}]}, ` + get + `}}`,
			"match.queryParameters[0].match: exact must be specified",
			`{httpRoute: {match: {prefix: /, headers: [{name: h}], queryParameters: [{name: q}, {name: r, match: {exact: ""}}]}, ` + get + `}}`,
		},
		"gateway route: empty rewrite": {
			"GatewayRoute", "spec.httpRoute.action.rewrite", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{}}}}`, "rewrite: specify at least one",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{hostname: {defaultTargetHostname: DISABLED}}}}}`,
		},
		"gateway route: prefix and path rewrite": {
			"GatewayRoute", "spec.httpRoute.action.rewrite", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {defaultPrefix: DISABLED}, path: {exact: /}}}}}`, "rewrite: both prefix and path",
			`{httpRoute: {match: {path: {exact: /a}}, ` + rewrite + `{path: {exact: /}}}}}`,
		},
		"gateway route: defaultPrefix and value": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {defaultPrefix: ENABLED, value: /a/}}}}}`, "rewrite.prefix: both defaultPrefix and value",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a/}}}}}`,
		},
		"gateway route: value without trailing slash": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix.value", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a}}}}}`, "rewrite.prefix.value: must begin and end with /",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /}}}}}`,
		},
		"gateway route: value without leading slash": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix.value", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: a/}}}}}`, "spec.httpRoute.action.rewrite.prefix.value: must begin and end with /",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a/}}}}}`,
		},
		"gateway route: prefix without leading slash": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix", `{httpRoute: {match: {prefix: a}, ` + rewrite + `{prefix: {value: /}}}}}`, "the prefix to be matched must begin with /",
			`{httpRoute: {match: {prefix: /a}, ` + get + `}}`,
		},
		"gateway route: empty gRPC match": {
			"GatewayRoute", "spec.grpcRoute.match", `{grpcRoute: {match: {}, ` + get + `}}`, "spec.grpcRoute.match: either serviceName or hostname",
			`{grpcRoute: {match: {serviceName: s}, ` + get + `}}`,
		},
		"gateway route: gRPC metadata only": {
			"GatewayRoute", "spec.grpcRoute.match", `{grpcRoute: {match: {metadata: [{name: h}]}, ` + get + `}}`, "spec.grpcRoute.match: either serviceName or hostname",
			`{grpcRoute: {match: {hostname: {exact: h}}, ` + get + `}}`,
		},
	} {
		if c.at == "" || c.denied == "" || c.want == "" || c.accepted == "" {
			t.Errorf("%s: a rule requires a field, a denied spec, a text and an accepted spec", name)
		}
		try := func(name, at, denied, want, accepted string) {
			t.Run(name, func(t *testing.T) {
				switch err := appmesh.ValidateCreate(object(t, c.kind, denied)); {
				case err == nil || !strings.Contains(err.Error(), want):
					t.Errorf("%s\ngot  %v\nwant %s", denied, err, want)
				case !containsPath(err.Error(), at):
					t.Errorf("%s\ngot  %v\nwant an error with %s", denied, err, at)
				}
				if err := appmesh.ValidateCreate(object(t, c.kind, accepted)); err != nil {
					t.Errorf("%s\ngot %v, want it accepted", accepted, err)
				}
			})
		}
		try(name, c.at, c.denied, c.want, c.accepted)
		if strings.Contains(c.at, "httpRoute") { // the rules for HTTP/2 are the same
			http2 := strings.NewReplacer("httpRoute", "http2Route").Replace
			try(name+", http2", http2(c.at), http2(c.denied), http2(c.want), http2(c.accepted))
		}
	}
}

// containsPath reports whether a text contains a complete field path.
func containsPath(text, path string) bool {
	return regexp.MustCompile(`(^|[ \n])` + regexp.QuoteMeta(path) + `($|[ :;])`).MatchString(text)
}

// TestUpdateRules has for each immutable field an update that changes it, and a similar valid update.
func TestUpdateRules(t *testing.T) {
	const cloudMap = `serviceDiscovery: {awsCloudMap: {namespaceName: ns, serviceName: s}}`
	for name, c := range map[string]struct{ kind, before, denied, want, accepted string }{
		"mesh": {"Mesh", `{awsName: a}`, `{awsName: b}`, "Mesh update may not change these fields: spec.awsName", `{awsName: a, namespaceSelector: {}}`},
		"mesh, egress filter is mutable": {
			"Mesh", `{awsName: a, egressFilter: {type: DROP_ALL}}`, `{egressFilter: {type: ALLOW_ALL}}`, "Mesh update may not change these fields: spec.awsName",
			`{awsName: a, egressFilter: {type: ALLOW_ALL}, meshServiceDiscovery: {ipPreference: IPv6_ONLY}}`,
		},
		"node registry attributes": {
			"VirtualNode", `{` + cloudMap + `}`, `{serviceDiscovery: {awsCloudMap: {namespaceName: ns, serviceName: s, attributes: [{key: k, value: v}]}}}`,
			"fields: spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `, backends: [{virtualService: {virtualServiceRef: {name: s}}}]}`,
		},
		"router mesh": {"VirtualRouter", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: m}}`, "VirtualRouter update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, routes: []}`},
		"service provider": {
			"VirtualService", `{awsName: a, provider: {virtualNode: {virtualNodeRef: {name: n1}}}}`, `{provider: {virtualNode: {virtualNodeRef: {name: n1}}}}`,
			"VirtualService update may not change these fields: spec.awsName", `{awsName: a, provider: {virtualRouter: {virtualRouterRef: {name: r}}}}`,
		},
		"node name":     {"VirtualNode", `{awsName: a}`, `{}`, "VirtualNode update may not change these fields: spec.awsName", `{awsName: a, podSelector: {}}`},
		"node mesh":     {"VirtualNode", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: m, uid: v}}`, "fields: spec.meshRef", `{meshRef: {name: m, uid: u}, listeners: []}`},
		"node registry": {"VirtualNode", `{` + cloudMap + `}`, `{}`, "fields: spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `, podSelector: {}}`},
		"two fields": {
			"VirtualNode", `{` + cloudMap + `}`, `{awsName: b}`, "fields: spec.awsName,spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `, backends: []}`,
		},
		"service mesh":       {"VirtualService", `{meshRef: {name: m, uid: u}}`, `{}`, "VirtualService update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, provider: {}}`},
		"gateway name":       {"VirtualGateway", `{awsName: a}`, `{awsName: b}`, "VirtualGateway update may not change these fields: spec.awsName", `{awsName: a, podSelector: {}}`},
		"gateway route name": {"GatewayRoute", `{awsName: a}`, `{}`, "GatewayRoute update may not change these fields: spec.awsName", `{awsName: a}`},
		"gateway route mesh": {"GatewayRoute", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: m, uid: v}}`, "GatewayRoute update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}}`},
		"removed registry":   {"VirtualNode", `{` + cloudMap + `, listeners: []}`, `{listeners: []}`, "fields: spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `}`},
		"service":            {"VirtualService", `{awsName: a}`, `{awsName: b}`, "VirtualService update may not change these fields: spec.awsName", `{awsName: a, provider: {}}`},
		"router":             {"VirtualRouter", `{awsName: a}`, `{awsName: b, meshRef: {name: m, uid: u}}`, "VirtualRouter update may not change these fields: spec.awsName,spec.meshRef", `{awsName: a, routes: []}`},
		"gateway":            {"VirtualGateway", `{meshRef: {name: m, uid: u}}`, `{}`, "VirtualGateway update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, podSelector: {}}`},
		"gateway route": {
			"GatewayRoute", `{virtualGatewayRef: {name: g, uid: u}}`, `{virtualGatewayRef: {name: h, uid: u}}`, "GatewayRoute update may not change these fields: spec.virtualGatewayRef",
			`{virtualGatewayRef: {name: g, uid: u}, grpcRoute: {match: {serviceName: s}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}}`,
		},
		"group":                  {"BackendGroup", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: n1, uid: u}}`, "BackendGroup update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, virtualservices: [{name: "*"}]}`},
		"rules for new objects":  {"VirtualRouter", `{}`, `{routes: [{name: a}, {name: a}]}`, "VirtualRouter-x has duplicate route entries for a; give each route a unique name: spec.routes[1].name", `{routes: [{name: a, tcpRoute: {action: {}}}, {name: b, tcpRoute: {action: {}}}]}`},
		"unchanged invalid spec": {"VirtualRouter", `{routes: [{name: a}, {name: a}]}`, `{routes: [{name: a}, {name: a}, {name: b}]}`, "spec.routes[1].name", `{routes: [{name: a}, {name: a}]}`},
	} {
		if c.before == "" || c.denied == "" || c.want == "" || c.accepted == "" {
			t.Errorf("%s: a rule requires a spec, a denied update, a text and an accepted update", name)
		}
		t.Run(name, func(t *testing.T) {
			before := object(t, c.kind, c.before)
			if err := appmesh.ValidateUpdate(before, object(t, c.kind, c.denied)); err == nil ||
				!strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s -> %s\ngot  %v\nwant %s", c.before, c.denied, err, c.want)
			}
			if err := appmesh.ValidateUpdate(before, object(t, c.kind, c.accepted)); err != nil {
				t.Errorf("%s -> %s\ngot %v, want it accepted", c.before, c.accepted, err)
			}
		})
	}
}

func TestCloudMapMayBeSetOnUpdate(t *testing.T) {
	before := object(t, "VirtualNode", `{}`)
	after := object(t, "VirtualNode", `{serviceDiscovery: {awsCloudMap: {namespaceName: ns, serviceName: s}}}`)
	if err := appmesh.ValidateUpdate(before, after); err != nil {
		t.Error(err)
	}
}

func TestKindCannotChange(t *testing.T) {
	if err := appmesh.ValidateUpdate(object(t, "VirtualNode", `{}`), object(t, "VirtualRouter", `{}`)); err == nil {
		t.Error("no error for a VirtualNode that becomes a VirtualRouter")
	}
}

// A malformed annotation with bound names is refused, also without a change of the spec. Whoever has one already may
// change other annotations.
func TestBoundNamesAreValidated(t *testing.T) {
	mesh := func(bound, other string) client.Object {
		o := object(t, "Mesh", "{}")
		o.SetAnnotations(map[string]string{"anymesh.dev/service-namespaces": bound, "other": other})
		return o
	}
	const want = `"db.example" is not NAME=NAMESPACE or *.SUFFIX=NAMESPACE`
	for what, err := range map[string]error{
		"new":     appmesh.ValidateCreate(mesh("db.example", "")),
		"changed": appmesh.ValidateUpdate(mesh("db.example=data", ""), mesh("db.example", "")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", what, err, want)
		}
	}
	for what, err := range map[string]error{
		"new":              appmesh.ValidateCreate(mesh("db.example=data, *.prod.example = prod,", "")),
		"fixed":            appmesh.ValidateUpdate(mesh("db.example", ""), mesh("db.example=data", "")),
		"other is changed": appmesh.ValidateUpdate(mesh("db.example", "a"), mesh("db.example", "b")),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
