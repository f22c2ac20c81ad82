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
	return decode(t, []byte("{apiVersion: appmesh.k8s.aws/v1beta2, kind: "+kind+", metadata: {name: x, namespace: ns}, spec: "+spec+"}"))[0]
}

// TestCreateRules has, for each rule, a spec that breaks it, the field that the answer names, what it says, and a spec
// next to it that is taken.
func TestCreateRules(t *testing.T) {
	const (
		get     = `action: {target: {virtualService: {virtualServiceRef: {name: s}}}}`
		to      = `action: {weightedTargets: [{virtualNodeRef: {name: n1}, weight: 1}]}`
		dns     = `serviceDiscovery: {dns: {hostname: h}}`
		http    = `{portMapping: {port: 80, protocol: http}}`
		rewrite = `action: {target: {virtualService: {virtualServiceRef: {name: s}}}, rewrite: `
	)
	for name, c := range map[string]struct{ kind, at, denied, says, taken string }{
		"mesh: family": {
			"Mesh", "spec.meshServiceDiscovery.ipPreference", `{meshServiceDiscovery: {ipPreference: IPv6_PREFERRED}}`, `Mesh-x: spec.meshServiceDiscovery.ipPreference: "IPv6_PREFERRED" is neither`,
			`{meshServiceDiscovery: {ipPreference: IPv4_ONLY}}`,
		},
		"node: listeners need discovery": {
			"VirtualNode", "spec.serviceDiscovery", `{listeners: [` + http + `]}`, "VirtualNode-x: spec.serviceDiscovery is needed",
			`{listeners: [` + http + `], ` + dns + `}`,
		},
		"node: no listeners, no discovery": {
			"VirtualNode", "spec.serviceDiscovery", `{listeners: [` + http + `], serviceDiscovery: {}}`, "VirtualNode-x: spec.serviceDiscovery is needed",
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
		"node: one pool": {
			"VirtualNode", "spec.listeners[0].connectionPool", `{` + dns + `, listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http: {maxConnections: 1}, tcp: {maxConnections: 1}}}]}`,
			"VirtualNode-x: spec.listeners[0].connectionPool: only one type",
			`{` + dns + `, listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {grpc: {maxRequests: 1}}}]}`,
		},
		"router: names of routes": {
			"VirtualRouter", "spec.routes[1].name", `{routes: [{name: a, tcpRoute: {` + to + `}}, {name: a, tcpRoute: {` + to + `}}]}`, "VirtualRouter-x has duplicate route entries for a; give each route a name of its own: spec.routes[1].name",
			`{routes: [{name: a, tcpRoute: {` + to + `}}, {name: b, tcpRoute: {` + to + `}}]}`,
		},
		"router: prefix or path": {
			"VirtualRouter", "spec.routes[0].httpRoute.match", `{routes: [{name: a, httpRoute: {match: {}, ` + to + `}}]}`, "spec.routes[0].httpRoute.match: specify exactly one of prefix and path",
			`{routes: [{name: a, httpRoute: {match: {prefix: /}, ` + to + `}}]}`,
		},
		"router: not prefix and path": {
			"VirtualRouter", "spec.routes[0].http2Route.match", `{routes: [{name: a, http2Route: {match: {prefix: /, path: {exact: /}}, ` + to + `}}]}`, "spec.routes[0].http2Route.match: specify exactly one of prefix and path",
			`{routes: [{name: a, http2Route: {match: {path: {exact: /}}, ` + to + `}}]}`,
		},
		"router: one way to match a path": {
			"VirtualRouter", "spec.routes[0].httpRoute.match.path", `{routes: [{name: a, httpRoute: {match: {path: {}}, ` + to + `}}]}`, "spec.routes[0].httpRoute.match.path: specify exactly one of exact and regex",
			`{routes: [{name: a, httpRoute: {match: {path: {regex: "/.*"}}, ` + to + `}}]}`,
		},
		"router: gRPC is not looked at": {
			"VirtualRouter", "spec.routes[0].httpRoute.match.path", `{routes: [{name: a, httpRoute: {match: {path: {exact: /, regex: /}}, ` + to + `}}]}`, "exactly one of exact and regex",
			`{routes: [{name: a, grpcRoute: {match: {methodName: m}, ` + to + `}}, {name: b, tcpRoute: {` + to + `}}]}`,
		},
		"gateway: one pool": {
			"VirtualGateway", "spec.listeners[0].connectionPool", `{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http: {maxConnections: 1}, http2: {maxRequests: 1}}}]}`,
			"VirtualGateway-x: spec.listeners[0].connectionPool: only one type",
			`{listeners: [{portMapping: {port: 80, protocol: http}, connectionPool: {http2: {maxRequests: 1}}}]}`,
		},
		"gateway route: one kind, not none": {
			"GatewayRoute", "spec", `{}`, "GatewayRoute-x: spec: no route specified", `{httpRoute: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: one kind, not two": {
			"GatewayRoute", "spec", `{httpRoute: {match: {prefix: /}, ` + get + `}, http2Route: {match: {prefix: /}, ` + get + `}}`, "spec: multiple routes specified",
			`{http2Route: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: something to match": {
			"GatewayRoute", "spec.httpRoute.match", `{httpRoute: {match: {method: GET}, ` + get + `}}`, "spec.httpRoute.match: either prefix, path or hostname",
			`{httpRoute: {match: {hostname: {exact: h}}, ` + get + `}}`,
		},
		"gateway route: not prefix and path": {
			"GatewayRoute", "spec.http2Route.match", `{http2Route: {match: {prefix: /, path: {exact: /}}, ` + get + `}}`, "spec.http2Route.match: both prefix and path",
			`{http2Route: {match: {path: {exact: /}}, ` + get + `}}`,
		},
		"gateway route: one way to match a host": {
			"GatewayRoute", "spec.httpRoute.match.hostname", `{httpRoute: {match: {hostname: {exact: h, suffix: h}}, ` + get + `}}`, "match.hostname: specify exactly one",
			`{httpRoute: {match: {hostname: {suffix: .h}}, ` + get + `}}`,
		},
		"gateway route: some way to match a host": {
			"GatewayRoute", "spec.httpRoute.match.hostname", `{httpRoute: {match: {prefix: /, hostname: {}}, ` + get + `}}`, "match.hostname: specify exactly one",
			`{httpRoute: {match: {prefix: /}, ` + get + `}}`,
		},
		"gateway route: not two filters a header": {
			"GatewayRoute", "spec.http2Route.match.headers[0].match", `{http2Route: {match: {prefix: /, headers: [{name: h, match: {exact: a, prefix: b}}]}, ` + get + `}}`, "spec.http2Route.match.headers[0].match: specify exactly one",
			`{http2Route: {match: {prefix: /, headers: [{name: h, match: {prefix: b}}]}, ` + get + `}}`,
		},
		"gateway route: one filter a header": {
			"GatewayRoute", "spec.httpRoute.match.headers[1].match", `{httpRoute: {match: {prefix: /, headers: [{name: h}, {name: i, match: {}}]}, ` + get + `}}`, "match.headers[1].match: specify exactly one",
			`{httpRoute: {match: {prefix: /, headers: [{name: h}, {name: i, match: {exact: v}}]}, ` + get + `}}`,
		},
		"gateway route: ranges, beyond the first": {
			"GatewayRoute", "spec.httpRoute.match.headers[1].match.range", `{httpRoute: {match: {prefix: /, headers: [{name: h, match: {range: {start: 1, end: 2}}}, {name: i, match: {range: {start: 2, end: 2}}}]}, ` + get + `}}`,
			"match.headers[1].match.range: start must be below end",
			`{httpRoute: {match: {prefix: /, headers: [{name: h, match: {range: {start: 1, end: 2}}}, {name: i, match: {range: {start: 2, end: 3}}}]}, ` + get + `}}`,
		},
		"gateway route: queries, also with headers": {
			"GatewayRoute", "spec.httpRoute.match.queryParameters[0].match", `{httpRoute: {match: {prefix: /, headers: [{name: h}], queryParameters: [{name: q, match: {}}]}, ` + get + `}}`,
			"match.queryParameters[0].match: exact must be specified",
			`{httpRoute: {match: {prefix: /, headers: [{name: h}], queryParameters: [{name: q}, {name: r, match: {exact: ""}}]}, ` + get + `}}`,
		},
		"gateway route: something to rewrite": {
			"GatewayRoute", "spec.httpRoute.action.rewrite", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{}}}}`, "rewrite: specify at least one",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{hostname: {defaultTargetHostname: DISABLED}}}}}`,
		},
		"gateway route: one rewrite of the path": {
			"GatewayRoute", "spec.httpRoute.action.rewrite", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {defaultPrefix: DISABLED}, path: {exact: /}}}}}`, "rewrite: both prefix and path",
			`{httpRoute: {match: {path: {exact: /a}}, ` + rewrite + `{path: {exact: /}}}}}`,
		},
		"gateway route: default or value": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {defaultPrefix: ENABLED, value: /a/}}}}}`, "rewrite.prefix: both defaultPrefix and value",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a/}}}}}`,
		},
		"gateway route: slashes of the value": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix.value", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a}}}}}`, "rewrite.prefix.value: must begin and end with /",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /}}}}}`,
		},
		"gateway route: slash at the beginning of the value": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix.value", `{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: a/}}}}}`, "spec.httpRoute.action.rewrite.prefix.value: must begin and end with /",
			`{httpRoute: {match: {prefix: /}, ` + rewrite + `{prefix: {value: /a/}}}}}`,
		},
		"gateway route: slash of the prefix": {
			"GatewayRoute", "spec.httpRoute.action.rewrite.prefix", `{httpRoute: {match: {prefix: a}, ` + rewrite + `{prefix: {value: /}}}}}`, "the prefix to be matched must begin with /",
			`{httpRoute: {match: {prefix: a}, ` + get + `}}`,
		},
		"gateway route: a host or a service in gRPC": {
			"GatewayRoute", "spec.grpcRoute.match", `{grpcRoute: {match: {}, ` + get + `}}`, "spec.grpcRoute.match: either serviceName or hostname",
			`{grpcRoute: {match: {serviceName: s}, ` + get + `}}`,
		},
		"gateway route: something to match in gRPC": {
			"GatewayRoute", "spec.grpcRoute.match", `{grpcRoute: {match: {metadata: [{name: h}]}, ` + get + `}}`, "spec.grpcRoute.match: either serviceName or hostname",
			`{grpcRoute: {match: {hostname: {exact: h}}, ` + get + `}}`,
		},
	} {
		if c.at == "" || c.denied == "" || c.says == "" || c.taken == "" {
			t.Errorf("%s: a rule has a field, a spec that is denied, an answer, and a spec that is taken", name)
		}
		try := func(name, at, denied, says, taken string) {
			t.Run(name, func(t *testing.T) {
				switch err := appmesh.ValidateCreate(object(t, c.kind, denied)); {
				case err == nil || !strings.Contains(err.Error(), says):
					t.Errorf("%s\ngot  %v\nwant %s", denied, err, says)
				case !names(err.Error(), at):
					t.Errorf("%s\ngot  %v\nwant it to name %s", denied, err, at)
				}
				if err := appmesh.ValidateCreate(object(t, c.kind, taken)); err != nil {
					t.Errorf("%s\ngot %v, want it taken", taken, err)
				}
			})
		}
		try(name, c.at, c.denied, c.says, c.taken)
		if strings.Contains(c.at, "httpRoute") { // the same holds for HTTP/2
			http2 := strings.NewReplacer("httpRoute", "http2Route").Replace
			try(name+", http2", http2(c.at), http2(c.denied), http2(c.says), http2(c.taken))
		}
	}
}

// names tells whether a text has a field's path, the whole of it.
func names(text, path string) bool {
	return regexp.MustCompile(`(^|[ \n])` + regexp.QuoteMeta(path) + `($|[ :;])`).MatchString(text)
}

// TestUpdateRules has, for each field that may not change, an update that changes it and one next to it that is taken.
func TestUpdateRules(t *testing.T) {
	const cloudMap = `serviceDiscovery: {awsCloudMap: {namespaceName: ns, serviceName: s}}`
	for name, c := range map[string]struct{ kind, before, denied, says, taken string }{
		"mesh": {"Mesh", `{awsName: a}`, `{awsName: b}`, "Mesh update may not change these fields: spec.awsName", `{awsName: a, namespaceSelector: {}}`},
		"mesh, not what it lets out": {
			"Mesh", `{awsName: a, egressFilter: {type: DROP_ALL}}`, `{egressFilter: {type: ALLOW_ALL}}`, "Mesh update may not change these fields: spec.awsName",
			`{awsName: a, egressFilter: {type: ALLOW_ALL}, meshServiceDiscovery: {ipPreference: IPv6_ONLY}}`,
		},
		"node registry, its attributes": {
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
		"two at once": {
			"VirtualNode", `{` + cloudMap + `}`, `{awsName: b}`, "fields: spec.awsName,spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `, backends: []}`,
		},
		"service mesh":                  {"VirtualService", `{meshRef: {name: m, uid: u}}`, `{}`, "VirtualService update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, provider: {}}`},
		"gateway name":                  {"VirtualGateway", `{awsName: a}`, `{awsName: b}`, "VirtualGateway update may not change these fields: spec.awsName", `{awsName: a, podSelector: {}}`},
		"gateway route name":            {"GatewayRoute", `{awsName: a}`, `{}`, "GatewayRoute update may not change these fields: spec.awsName", `{awsName: a}`},
		"gateway route mesh":            {"GatewayRoute", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: m, uid: v}}`, "GatewayRoute update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}}`},
		"registry taken away wholesale": {"VirtualNode", `{` + cloudMap + `, listeners: []}`, `{listeners: []}`, "fields: spec.serviceDiscovery.awsCloudMap", `{` + cloudMap + `}`},
		"service":                       {"VirtualService", `{awsName: a}`, `{awsName: b}`, "VirtualService update may not change these fields: spec.awsName", `{awsName: a, provider: {}}`},
		"router":                        {"VirtualRouter", `{awsName: a}`, `{awsName: b, meshRef: {name: m, uid: u}}`, "VirtualRouter update may not change these fields: spec.awsName,spec.meshRef", `{awsName: a, routes: []}`},
		"gateway":                       {"VirtualGateway", `{meshRef: {name: m, uid: u}}`, `{}`, "VirtualGateway update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, podSelector: {}}`},
		"gateway route": {
			"GatewayRoute", `{virtualGatewayRef: {name: g, uid: u}}`, `{virtualGatewayRef: {name: h, uid: u}}`, "GatewayRoute update may not change these fields: spec.virtualGatewayRef",
			`{virtualGatewayRef: {name: g, uid: u}, grpcRoute: {match: {serviceName: s}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}}`,
		},
		"group":                 {"BackendGroup", `{meshRef: {name: m, uid: u}}`, `{meshRef: {name: n1, uid: u}}`, "BackendGroup update may not change these fields: spec.meshRef", `{meshRef: {name: m, uid: u}, virtualservices: [{name: "*"}]}`},
		"rules of new objects":  {"VirtualRouter", `{}`, `{routes: [{name: a}, {name: a}]}`, "VirtualRouter-x has duplicate route entries for a; give each route a name of its own: spec.routes[1].name", `{routes: [{name: a, tcpRoute: {action: {}}}, {name: b, tcpRoute: {action: {}}}]}`},
		"a spec that stays bad": {"VirtualRouter", `{routes: [{name: a}, {name: a}]}`, `{routes: [{name: a}, {name: a}, {name: b}]}`, "spec.routes[1].name", `{routes: [{name: a}, {name: a}]}`},
	} {
		if c.before == "" || c.denied == "" || c.says == "" || c.taken == "" {
			t.Errorf("%s: a rule has a spec, an update that is denied, an answer, and an update that is taken", name)
		}
		t.Run(name, func(t *testing.T) {
			before := object(t, c.kind, c.before)
			if err := appmesh.ValidateUpdate(before, object(t, c.kind, c.denied)); err == nil ||
				!strings.HasSuffix(err.Error(), c.says) {
				t.Errorf("%s -> %s\ngot  %v\nwant %s", c.before, c.denied, err, c.says)
			}
			if err := appmesh.ValidateUpdate(before, object(t, c.kind, c.taken)); err != nil {
				t.Errorf("%s -> %s\ngot %v, want it taken", c.before, c.taken, err)
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
		t.Error("a VirtualNode became a VirtualRouter")
	}
}
