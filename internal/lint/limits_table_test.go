package lint_test

// fullSpecs have a valid value for every field that has a limit.
var fullSpecs = map[string]string{
	"Mesh": `{egressFilter: {type: DROP_ALL}, meshServiceDiscovery: {ipPreference: IPv4_ONLY}}`,
	"VirtualNode": `
listeners:
  - portMapping: {port: 80, protocol: http}
    healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, path: /, port: 80}
    outlierDetection: {maxServerErrors: 1, interval: {unit: s, value: 1}, baseEjectionDuration: {unit: s, value: 1}, maxEjectionPercent: 1}
    connectionPool: {tcp: {maxConnections: 1}, http: {maxConnections: 1, maxPendingRequests: 1}, http2: {maxRequests: 1}, grpc: {maxRequests: 1}}
    timeout: {http: {perRequest: {unit: s, value: 1}, idle: {unit: s, value: 1}}, tcp: {idle: {unit: s, value: 1}}}
    tls: {mode: STRICT, certificate: {file: {certificateChain: c, privateKey: k}}, validation: {trust: {file: {certificateChain: c}}}}
serviceDiscovery: {dns: {hostname: h, responseType: ENDPOINTS}, awsCloudMap: {namespaceName: a, serviceName: b, attributes: [{key: k, value: v}]}}
backends: [{virtualService: {virtualServiceRef: {name: s}}}]
backendDefaults: {clientPolicy: {tls: {ports: [1], validation: {trust: {acm: {certificateAuthorityARNs: [a]}}}}}}
logging: {accessLog: {file: {path: p, format: {json: [{key: k, value: v}]}}}}
meshRef: {name: m, uid: u}`,
	"VirtualRouter": `
listeners: [{portMapping: {port: 80, protocol: http}}]
routes:
  - name: r
    priority: 0
    httpRoute:
      match: {prefix: /, path: {exact: e, regex: r}, headers: [{name: h, match: {exact: e, prefix: p, suffix: s, regex: r, range: {start: 1, end: 2}}}],
        queryParameters: [{name: q, match: {exact: e}}], method: GET, scheme: http, port: 0}
      action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1, port: 1}]}
      retryPolicy: {httpRetryEvents: [server-error], tcpRetryEvents: [connection-error], maxRetries: 1, perRetryTimeout: {unit: s, value: 1}}
      timeout: {perRequest: {unit: s, value: 1}, idle: {unit: s, value: 1}}
    grpcRoute:
      match: {serviceName: s, methodName: m, metadata: [{name: h}], port: 0}
      action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}
      retryPolicy: {httpRetryEvents: [server-error], tcpRetryEvents: [connection-error], grpcRetryEvents: [internal], maxRetries: 1, perRetryTimeout: {unit: s, value: 1}}
    tcpRoute: {match: {port: 0}, action: {weightedTargets: [{virtualNodeRef: {name: node}, weight: 1}]}, timeout: {idle: {unit: s, value: 1}}}`,
	"VirtualService": `{provider: {virtualNode: {virtualNodeRef: {name: node}}}}`,
	"VirtualGateway": `
listeners:
  - portMapping: {port: 80, protocol: http}
    healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http}
    connectionPool: {http: {maxConnections: 1, maxPendingRequests: 1}, http2: {maxRequests: 1}, grpc: {maxRequests: 1}}
    tls: {mode: STRICT, certificate: {acm: {certificateARN: a}}}`,
	"GatewayRoute": `
priority: 0
httpRoute:
  match: {prefix: /, path: {exact: e, regex: r}, hostname: {exact: e, suffix: s}, headers: [{name: h}], queryParameters: [{name: q}], method: GET, port: 0}
  action: {target: {port: 0, virtualService: {virtualServiceRef: {name: s}}},
    rewrite: {prefix: {defaultPrefix: ENABLED, value: v}, path: {exact: e}, hostname: {defaultTargetHostname: ENABLED}}}
grpcRoute: {match: {serviceName: s, metadata: [{name: h}]}, action: {target: {virtualService: {virtualServiceRef: {name: s}}}}}
virtualGatewayRef: {name: g, uid: u}`,
	"BackendGroup": `{virtualservices: [{name: s}]}`,
}

// limits are the rows, by kind and in the order of the fields.
func limits() []limitOf {
	const (
		node, router, gateway, route = "VirtualNode", "VirtualRouter", "VirtualGateway", "GatewayRoute"
		listener, http, grpc         = "listeners[0].", "routes[0].httpRoute.", "routes[0].grpcRoute."
		gwHTTP                       = "httpRoute."
	)

	of := func(kind, path string) func(refused, taken []any) limitOf {
		return func(refused, taken []any) limitOf { return limitOf{kind, path, refused, taken} }
	}
	protocols := func() ([]any, []any) { return oneOf("grpc", "http", "http2", "tcp") }
	methods := func() ([]any, []any) {
		return oneOf("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
	}
	httpEvents := []any{list("server-error"), list("gateway-error"), list("client-error"), list("stream-error")}
	return []limitOf{
		of("Mesh", "egressFilter.type")(oneOf("ALLOW_ALL", "DROP_ALL")),
		of("Mesh", "egressFilter.type")(needed("DROP_ALL")),
		of("Mesh", "meshServiceDiscovery.ipPreference")(oneOf("IPv6_ONLY", "IPv4_ONLY")),

		of(node, listener+"portMapping")(needed(map[string]any{"port": 1, "protocol": "tcp"})),
		of(node, listener+"portMapping.port")(from(1, 65535)),
		of(node, listener+"portMapping.protocol")(protocols()),
		of(node, listener+"healthCheck.healthyThreshold")(from(2, 10)),
		of(node, listener+"healthCheck.unhealthyThreshold")(from(2, 10)),
		of(node, listener+"healthCheck.intervalMillis")(from(5000, 300000)),
		of(node, listener+"healthCheck.timeoutMillis")(from(2000, 60000)),
		of(node, listener+"healthCheck.protocol")(protocols()),
		of(node, listener+"healthCheck.port")(from(1, 65535)),
		of(node, listener+"outlierDetection.maxServerErrors")(from(1, -1)),
		of(node, listener+"outlierDetection.interval.unit")(oneOf("s", "ms")),
		of(node, listener+"outlierDetection.interval.value")(from(0, -1)),
		of(node, listener+"outlierDetection.baseEjectionDuration")(needed(map[string]any{"unit": "s", "value": 0})),
		of(node, listener+"outlierDetection.maxEjectionPercent")(from(0, 100)),
		of(node, listener+"connectionPool.tcp.maxConnections")(from(1, -1)),
		of(node, listener+"connectionPool.http.maxConnections")(from(1, -1)),
		of(node, listener+"connectionPool.http.maxPendingRequests")(from(1, -1)),
		of(node, listener+"connectionPool.http2.maxRequests")(from(1, -1)),
		of(node, listener+"connectionPool.grpc.maxRequests")(from(1, -1)),
		of(node, listener+"timeout.http.perRequest.value")(from(0, -1)),
		of(node, listener+"timeout.http.idle.unit")(oneOf("s", "ms")),
		of(node, listener+"timeout.tcp.idle.value")(from(0, -1)),
		of(node, listener+"tls.mode")(oneOf("DISABLED", "PERMISSIVE", "STRICT")),
		of(node, listener+"tls.certificate")(needed(map[string]any{"sds": map[string]any{"secretName": "s"}})),
		of(node, listener+"tls.certificate.file.certificateChain")(lengths(1, 255)),
		of(node, listener+"tls.certificate.file.privateKey")(lengths(1, 255)),
		of(node, listener+"tls.validation.trust")(needed(map[string]any{"sds": map[string]any{"secretName": "s"}})),
		of(node, "serviceDiscovery.dns.hostname")(needed("h")),
		of(node, "serviceDiscovery.dns.responseType")(oneOf("ENDPOINTS", "LOADBALANCER")),
		of(node, "serviceDiscovery.awsCloudMap.namespaceName")(lengths(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.serviceName")(lengths(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].key")(lengths(1, 255)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].value")(lengths(1, 1024)),
		of(node, "backends[0].virtualService")(needed(map[string]any{})),
		of(node, "backends[0].virtualService.virtualServiceRef.name")(needed("s")),
		of(node, "backendDefaults.clientPolicy.tls.validation")(needed(map[string]any{"trust": map[string]any{}})),
		of(node, "backendDefaults.clientPolicy.tls.validation.trust.acm.certificateAuthorityARNs")(items(1, 3, "a")),
		of(node, "backendDefaults.clientPolicy.tls.ports[0]")(from(1, 65535)),
		of(node, "logging.accessLog.file.path")(lengths(1, 255)),
		of(node, "logging.accessLog.file.format.json[0].key")([]any{""}, []any{"k"}),
		of(node, "meshRef.uid")(needed("u")),

		of("VirtualService", "provider.virtualNode.virtualNodeRef.name")(needed("s")),

		of(router, "listeners")(items(1, -1, "{portMapping: {port: 80, protocol: http}}")),
		of(router, listener+"portMapping.port")(from(1, 65535)),
		of(router, listener+"portMapping.protocol")(protocols()),
		of(router, "routes[0].name")(needed("r")),
		of(router, "routes[0].priority")(from(0, 1000)),
		of(router, http+"match")(needed(map[string]any{})),
		of(router, http+"match.path.exact")(lengths(1, 255)),
		of(router, http+"match.path.regex")(lengths(1, 255)),
		of(router, http+"match.headers")(items(1, 10, "{name: h}")),
		of(router, http+"match.headers[0].name")(lengths(1, 50)),
		of(router, http+"match.headers[0].match.exact")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.prefix")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.suffix")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.regex")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.range.start")(needed(1)),
		of(router, http+"match.headers[0].match.range.end")(needed(2)),
		of(router, http+"match.queryParameters")(items(1, 10, "{name: q}")),
		of(router, http+"match.queryParameters[0].name")(needed("q")),
		of(router, http+"match.method")(methods()),
		of(router, http+"match.scheme")(oneOf("http", "https")),
		of(router, http+"match.port")(from(0, -1)),
		of(router, http+"action")(needed(map[string]any{"weightedTargets": times(1, "{weight: 1}")})),
		of(router, http+"action.weightedTargets")(items(1, 10, "{weight: 1}")),
		of(router, http+"action.weightedTargets[0].weight")(from(0, 100)),
		of(router, http+"action.weightedTargets[0].port")(from(0, -1)),
		of(router, http+"retryPolicy.httpRetryEvents")(items(1, 25, "server-error")),
		of(router, http+"retryPolicy.httpRetryEvents")(nil, httpEvents),
		of(router, http+"retryPolicy.httpRetryEvents[0]")(oneOf("server-error")),
		of(router, http+"retryPolicy.tcpRetryEvents")(items(1, 1, "connection-error")),
		of(router, http+"retryPolicy.tcpRetryEvents[0]")(oneOf("connection-error")),
		of(router, http+"retryPolicy.maxRetries")(from(0, -1)),
		of(router, http+"retryPolicy.maxRetries")(needed(0)),
		of(router, http+"retryPolicy.perRetryTimeout")(needed(map[string]any{"unit": "ms", "value": 1})),
		of(router, http+"timeout.perRequest.unit")(oneOf("s", "ms")),
		of(router, http+"timeout.idle.value")(from(0, -1)),
		of(router, grpc+"match.methodName")(lengths(1, 50)),
		of(router, grpc+"match.metadata")(items(1, 10, "{name: h}")),
		of(router, grpc+"match.port")(from(0, -1)),
		of(router, grpc+"retryPolicy.grpcRetryEvents")(items(1, 5, "internal")),
		of(router, grpc+"retryPolicy.grpcRetryEvents[0]")(oneOf("cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable")),
		of(router, "routes[0].tcpRoute.match.port")(from(0, -1)),
		of(router, "routes[0].tcpRoute.timeout.idle.value")(from(0, -1)),

		of(gateway, listener+"portMapping.port")(from(1, 65535)),
		of(gateway, listener+"portMapping.protocol")(list("tcp", "udp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.protocol")(list("tcp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.healthyThreshold")(list(1, 11), list(absent, 2, 10)),
		of(gateway, listener+"healthCheck.unhealthyThreshold")(from(2, 10)),
		of(gateway, listener+"connectionPool.http.maxConnections")(from(1, -1)),
		of(gateway, listener+"connectionPool.http2.maxRequests")(from(1, -1)),
		of(gateway, listener+"connectionPool.grpc.maxRequests")(from(1, -1)),
		of(gateway, listener+"tls.mode")(oneOf("DISABLED", "PERMISSIVE", "STRICT")),

		of(route, "priority")(from(0, 1000)),
		of(route, gwHTTP+"match.path.exact")(lengths(1, 255)),
		of(route, gwHTTP+"match.path.regex")(lengths(1, 255)),
		of(route, gwHTTP+"match.hostname.exact")(lengths(1, 253)),
		of(route, gwHTTP+"match.hostname.suffix")(lengths(1, 253)),
		of(route, gwHTTP+"match.headers")(items(1, 10, "{name: h}")),
		of(route, gwHTTP+"match.queryParameters")(items(1, 10, "{name: q}")),
		of(route, gwHTTP+"match.method")(methods()),
		of(route, gwHTTP+"match.port")(from(0, -1)),
		of(route, gwHTTP+"action.target")(needed(map[string]any{"virtualService": map[string]any{}})),
		of(route, gwHTTP+"action.target.virtualService")(needed(map[string]any{})),
		of(route, gwHTTP+"action.target.port")(from(0, -1)),
		of(route, gwHTTP+"action.rewrite.prefix.defaultPrefix")(oneOf("ENABLED", "DISABLED")),
		of(route, gwHTTP+"action.rewrite.prefix.value")(lengths(1, 255)),
		of(route, gwHTTP+"action.rewrite.path.exact")(lengths(1, 255)),
		of(route, gwHTTP+"action.rewrite.hostname.defaultTargetHostname")(oneOf("ENABLED", "DISABLED")),
		of(route, "grpcRoute.match.metadata")(items(1, 10, "{name: h}")),
		of(route, "virtualGatewayRef.uid")(needed("u")),

		of("BackendGroup", "virtualservices[0].name")(needed("*")),
	}
}
