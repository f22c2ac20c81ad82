package docs

import (
	"fmt"
	"strings"
)

const (
	httpListener = `listeners: [{portMapping: {port: 80, protocol: http}}]`
	toService    = `httpRoute: {match: {prefix: /}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}`
	toNode       = `action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}`
	serviceARN   = `"arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualService/s.a"`
	nodeARN      = `"arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualNode/node_a"`
	routerARN    = `"arn:aws:appmesh:eu-west-1:111122223333:mesh/m/virtualRouter/r_a"`
)

// httpMatch and grpcMatch return routers with one route and a match condition.
func httpMatch(match string) string {
	return `{` + httpListener + `, routes: [{name: r, httpRoute: {match: {` + match + `}, ` + toNode + `}}]}`
}

func grpcMatch(match string) string {
	return `{listeners: [{portMapping: {port: 80, protocol: grpc}}], routes: [{name: r, grpcRoute: {match: {` + match +
		`}, ` + toNode + `}}]}`
}

func target(target string) string {
	return `{` + httpListener + `, routes: [{name: r, httpRoute: {match: {prefix: /}, action: {weightedTargets: [{` +
		target + `, weight: 1}]}}}]}`
}

// severalListeners returns a router with one listener per protocol and one route to a node.
func severalListeners(route string) string {
	return `{listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 81, protocol: http2}}, {portMapping: {port: 82, protocol: grpc}},
		{portMapping: {port: 83, protocol: tcp}}], routes: [{name: r, ` + route + toNode + `}}]}`
}

func letters(n int) string { return strings.Repeat("x", n) }

// logging returns an access log format. trusting returns a trusted peer name of the given length. checked returns a
// listener with a health check port, serving a listener with a certificate.
func logging(format string) string {
	return `{logging: {accessLog: {file: {path: /dev/stdout, format: {` + format + `}}}}}`
}

func trusting(n int) string {
	return `{backendDefaults: {clientPolicy: {tls: {validation: {trust: {file: {certificateChain: /ca.pem}}, subjectAlternativeNames: {match: {exact: [` + letters(n) + `]}}}}}}}`
}

func serving(certificate string) string {
	return `{listeners: [{portMapping: {port: 80, protocol: http}, tls: {mode: STRICT, certificate: {` + certificate +
		`}}}], serviceDiscovery: {dns: {hostname: node.a}}}`
}

func checked(port int) string {
	return fmt.Sprintf(`listeners: [{portMapping: {port: 80, protocol: http}, healthCheck: {protocol: http, port: %d,
		healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000}}]`, port)
}

// invalidSpecs are the errors that the App Mesh controller accepted and that admission detects by translating the
// object alone.
var invalidSpecs = []rule{
	{"Mesh", "spec.awsName", `{awsName: my mesh}`, `{awsName: my-mesh}`},
	{
		"Mesh", "spec.namespaceSelector.matchExpressions[0].values",
		`{namespaceSelector: {matchExpressions: [{key: mesh, operator: In}]}}`,
		`{namespaceSelector: {matchExpressions: [{key: mesh, operator: In, values: [m]}]}}`,
	},
	{"VirtualNode", "spec.awsName", `{awsName: a.b}`, `{awsName: a_b}`},
	{
		"VirtualNode", "spec.podSelector.matchExpressions[0].operator",
		`{podSelector: {matchExpressions: [{key: app, operator: Is}]}}`,
		`{podSelector: {matchExpressions: [{key: app, operator: Exists}]}}`,
	},
	{"VirtualNode", "spec.listeners[1].portMapping.port", `{listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 80, protocol: grpc}}], serviceDiscovery: {dns: {hostname: node.a}}}`,
		`{listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 81, protocol: grpc}}], serviceDiscovery: {dns: {hostname: node.a}}}`},
	{
		"VirtualNode", "spec.listeners[0].healthCheck.port",
		`{` + checked(81) + `, serviceDiscovery: {dns: {hostname: node.a}}}`,
		`{` + checked(80) + `, serviceDiscovery: {dns: {hostname: node.a}}}`,
	},
	{
		"VirtualNode", "spec.listeners[0].tls.certificate", serving(``),
		serving(`file: {certificateChain: /a.crt, privateKey: /a.key}`),
	},
	{
		"VirtualNode", "spec.backendDefaults.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[0]",
		trusting(254 + 1), trusting(254),
	},
	{
		"VirtualNode", "spec.logging.accessLog.file.format.text", logging(`text: ` + letters(1000+1)),
		logging(`text: ` + letters(1000)),
	},
	{
		"VirtualNode", "spec.logging.accessLog.file.format.json[0].key",
		logging(`json: [{key: ` + letters(100+1) + `, value: v}]`),
		logging(`json: [{key: ` + letters(100) + `, value: v}]`),
	},
	{
		"VirtualNode", "spec.logging.accessLog.file.format.json[0].value",
		logging(`json: [{key: k, value: ` + letters(100+1) + `}]`),
		logging(`json: [{key: k, value: ` + letters(100) + `}]`),
	},
	{
		"VirtualNode", "spec.serviceDiscovery.dns.hostname",
		`{` + httpListener + `, serviceDiscovery: {dns: {hostname: "node.a:80"}}}`,
		`{` + httpListener + `, serviceDiscovery: {dns: {hostname: node.a}}}`,
	},
	{
		"VirtualNode", "spec.backends[0].virtualService", `{backends: [{virtualService: {}}]}`,
		`{backends: [{virtualService: {virtualServiceRef: {name: s}}}]}`,
	},
	{
		"VirtualNode", "spec.backends[0].virtualService.virtualServiceARN",
		`{backends: [{virtualService: {virtualServiceARN: s.a}}]}`,
		`{backends: [{virtualService: {virtualServiceARN: ` + serviceARN + `}}]}`,
	},
	{"VirtualService", "spec.awsName", `{awsName: "http://s"}`, `{awsName: s.example.com}`},
	{
		"VirtualService", "spec.provider",
		`{provider: {virtualNode: {virtualNodeRef: {name: node}}, virtualRouter: {virtualRouterRef: {name: r}}}}`,
		`{provider: {virtualNode: {virtualNodeRef: {name: node}}}}`,
	},
	{
		"VirtualService", "spec.provider.virtualNode", `{provider: {virtualNode: {}}}`,
		`{provider: {virtualNode: {virtualNodeRef: {name: node}}}}`,
	},
	{
		"VirtualService", "spec.provider.virtualRouter", `{provider: {virtualRouter: {}}}`,
		`{provider: {virtualRouter: {virtualRouterARN: ` + routerARN + `}}}`,
	},
	{
		"VirtualService", "spec.provider.virtualNode.virtualNodeARN",
		`{provider: {virtualNode: {virtualNodeARN: ` + routerARN + `}}}`,
		`{provider: {virtualNode: {virtualNodeARN: ` + nodeARN + `}}}`,
	},
	{
		"VirtualService", "spec.provider.virtualRouter.virtualRouterARN",
		`{provider: {virtualRouter: {virtualRouterARN: ` + nodeARN + `}}}`,
		`{provider: {virtualRouter: {virtualRouterARN: ` + routerARN + `}}}`,
	},
	{"VirtualRouter", "spec.awsName", `{awsName: a/b}`, `{awsName: a-b}`},
	{
		"VirtualRouter", "spec.listeners[1].portMapping.port",
		`{listeners: [{portMapping: {port: 80, protocol: http}}, {portMapping: {port: 80, protocol: http}}]}`,
		`{` + httpListener + `}`,
	},
	{
		"VirtualRouter", "spec.routes[0].name", `{routes: [{name: to node, tcpRoute: {` + toNode + `}}]}`,
		`{routes: [{name: to-node, tcpRoute: {` + toNode + `}}]}`,
	},
	{"VirtualRouter", "spec.routes[0]", `{routes: [{name: r}]}`, `{routes: [{name: r, tcpRoute: {` + toNode + `}}]}`},
	{
		"VirtualRouter", "spec.routes[0]",
		`{routes: [{name: r, tcpRoute: {` + toNode + `}, httpRoute: {match: {prefix: /}, ` + toNode + `}}]}`,
		`{routes: [{name: r, httpRoute: {match: {prefix: /}, ` + toNode + `}}]}`,
	},
	{
		"VirtualRouter", "spec.routes[0].grpcRoute",
		`{` + httpListener + `, routes: [{name: r, grpcRoute: {match: {}, ` + toNode + `}}]}`, grpcMatch(``),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.port", httpMatch(`prefix: /, port: 81`),
		httpMatch(`prefix: /, port: 80`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.port", httpMatch(`prefix: /, port: 70000`),
		httpMatch(`prefix: /, port: 0`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.port", severalListeners(`httpRoute: {match: {prefix: /}, `),
		severalListeners(`httpRoute: {match: {prefix: /, port: 80}, `),
	},
	{
		"VirtualRouter", "spec.routes[0].http2Route.match.port", severalListeners(`http2Route: {match: {prefix: /}, `),
		severalListeners(`http2Route: {match: {prefix: /, port: 81}, `),
	},
	{
		"VirtualRouter", "spec.routes[0].grpcRoute.match.port", severalListeners(`grpcRoute: {match: {}, `),
		severalListeners(`grpcRoute: {match: {port: 82}, `),
	},
	{
		"VirtualRouter", "spec.routes[0].tcpRoute.match.port", severalListeners(`tcpRoute: {`),
		severalListeners(`tcpRoute: {match: {port: 83}, `),
	},
	{"VirtualRouter", "spec.routes[0].httpRoute.match.prefix", httpMatch(`prefix: paint`), httpMatch(`prefix: /paint`)},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.path.exact", httpMatch(`path: {exact: paint}`),
		httpMatch(`path: {exact: /paint}`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.path.regex", httpMatch(`path: {regex: "/(paint"}`),
		httpMatch(`path: {regex: "/(paint)"}`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.headers[0].match",
		httpMatch(`prefix: /, headers: [{name: h, match: {}}]`), httpMatch(`prefix: /, headers: [{name: h}]`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.headers[0].match",
		httpMatch(`prefix: /, headers: [{name: h, match: {exact: a, prefix: b}}]`),
		httpMatch(`prefix: /, headers: [{name: h, match: {exact: a}}]`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.headers[0].match.regex",
		httpMatch(`prefix: /, headers: [{name: h, match: {regex: "a{2,1}"}}]`),
		httpMatch(`prefix: /, headers: [{name: h, match: {regex: "a{1,2}"}}]`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.match.headers[0].match.range",
		httpMatch(`prefix: /, headers: [{name: h, match: {range: {start: 2, end: 2}}}]`),
		httpMatch(`prefix: /, headers: [{name: h, match: {range: {start: 2, end: 3}}}]`),
	},
	{
		"VirtualRouter", "spec.routes[0].grpcRoute.match.metadata[0].match",
		grpcMatch(`metadata: [{name: h, match: {}}]`), grpcMatch(`metadata: [{name: h, match: {suffix: a}}]`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.action.weightedTargets[0]",
		`{` + httpListener +
			`, routes: [{name: r, httpRoute: {match: {prefix: /}, action: {weightedTargets: [{weight: 1}]}}}]}`,
		target(`virtualNodeRef: {name: node}`),
	},
	{
		"VirtualRouter", "spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeARN",
		target(`virtualNodeARN: ` + serviceARN), target(`virtualNodeARN: ` + nodeARN),
	},
	{"VirtualGateway", "spec.awsName", `{awsName: front.door}`, `{awsName: front_door}`},
	{"VirtualGateway", "spec.listeners[0].healthCheck.port", `{` + checked(81) + `}`, `{` + checked(80) + `}`},
	{
		"VirtualGateway", "spec.backendDefaults.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[0]",
		trusting(254 + 1), trusting(254),
	},
	{
		"VirtualGateway", "spec.logging.accessLog.file.format.text", logging(`text: ` + letters(1000+1)),
		logging(`text: ` + letters(1000)),
	},
	{
		"VirtualGateway", "spec.logging.accessLog.file.format.json[0].key",
		logging(`json: [{key: ` + letters(100+1) + `, value: v}]`),
		logging(`json: [{key: ` + letters(100) + `, value: v}]`),
	},
	{
		"VirtualGateway", "spec.logging.accessLog.file.format.json[0].value",
		logging(`json: [{key: k, value: ` + letters(100+1) + `}]`),
		logging(`json: [{key: k, value: ` + letters(100) + `}]`),
	},
	{"GatewayRoute", "spec.awsName", `{awsName: to s, ` + toService + `}`, `{awsName: to-s, ` + toService + `}`},
}
