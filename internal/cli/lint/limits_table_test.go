package lint_test

// tableCases returns the test cases of limits, by kind and in the order of the fields. allSharedLimits copies them to
// fields with the same limits.
func tableCases() []limitCase {
	const (
		node, router, gateway, route = "VirtualNode", "VirtualRouter", "VirtualGateway", "GatewayRoute"
		listener, http, grpc         = "listeners[0].", "routes[0].httpRoute.", "routes[0].grpcRoute."
		gwHTTP                       = "httpRoute."
	)

	of := func(kind, path string) func(invalid, valid []any) limitCase {
		return func(invalid, valid []any) limitCase { return limitCase{kind, "spec." + path, invalid, valid} }
	}
	some := map[string]any{}
	protocols := func() ([]any, []any) { return enum("grpc", "http", "http2", "tcp") }
	methods := func() ([]any, []any) {
		return enum("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
	}
	return []limitCase{
		of("Mesh", "egressFilter.type")(enum("ALLOW_ALL", "DROP_ALL")),
		of("Mesh", "meshServiceDiscovery.ipPreference")(enum("IPv6_ONLY", "IPv4_ONLY")),

		of(node, "listeners")(list(some), list(absent, repeat(0, ""))),
		of(node, listener+"portMapping.port")(intRange(1, 65535)),
		of(node, listener+"portMapping.protocol")(protocols()),
		of(node, listener+"healthCheck.healthyThreshold")(intRange(2, 10)),
		of(node, listener+"healthCheck.unhealthyThreshold")(intRange(2, 10)),
		of(node, listener+"healthCheck.intervalMillis")(intRange(5000, 300000)),
		of(node, listener+"healthCheck.timeoutMillis")(intRange(2000, 60000)),
		of(node, listener+"healthCheck.protocol")(protocols()),
		of(node, listener+"healthCheck.port")(intRange(1, 65535)),
		of(node, listener+"outlierDetection.maxServerErrors")(intRange(1, -1)),
		of(node, listener+"outlierDetection.interval.unit")(enum("s", "ms")),
		of(node, listener+"outlierDetection.interval.value")(intRange(0, -1)),
		of(node, listener+"outlierDetection.maxEjectionPercent")(intRange(0, 100)),
		of(node, listener+"connectionPool.tcp.maxConnections")(intRange(1, -1)),
		of(node, listener+"connectionPool.http.maxConnections")(intRange(1, -1)),
		of(node, listener+"connectionPool.http.maxPendingRequests")(intRange(1, -1)),
		of(node, listener+"connectionPool.http2.maxRequests")(intRange(1, -1)),
		of(node, listener+"connectionPool.grpc.maxRequests")(intRange(1, -1)),
		of(node, listener+"tls.mode")(enum("DISABLED", "PERMISSIVE", "STRICT")),
		of(node, listener+"tls.certificate.file.certificateChain")(lengthRange(1, 255)),
		of(node, listener+"tls.certificate.file.privateKey")(lengthRange(1, 255)),
		of(node, "serviceDiscovery.dns.responseType")(enum("ENDPOINTS", "LOADBALANCER")),
		of(node, "serviceDiscovery.awsCloudMap.namespaceName")(lengthRange(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.serviceName")(lengthRange(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].key")(lengthRange(1, 255)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].value")(lengthRange(1, 1024)),
		of(node,
			"backendDefaults.clientPolicy.tls.validation.trust.acm.certificateAuthorityARNs")(itemRange(1, 3, "a")),
		of(node, "backendDefaults.clientPolicy.tls.ports")(list(some), list(absent, repeat(0, ""))),
		of(node, "backendDefaults.clientPolicy.tls.ports[0]")(intRange(1, 65535)),
		of(node, "backendDefaults.clientPolicy.tls.enforce")(list("true"), list(absent, true, false)),
		of(node, "logging.accessLog.file.path")(lengthRange(1, 255)),
		of(node, "logging.accessLog.file.format.json[0].key")(list(""), list("k")),
		of(node, "logging.accessLog.file.format.json[0].value")(list(""), list("v")),

		of(router, "listeners")(itemRange(1, -1, "{portMapping: {port: 80, protocol: http}}")),
		of(router, listener+"portMapping.port")(intRange(1, 65535)),
		of(router, listener+"portMapping.protocol")(protocols()),
		of(router, "routes[0].priority")(intRange(0, 1000)),
		of(router, http+"match.path.exact")(lengthRange(1, 255)),
		of(router, http+"match.path.regex")(lengthRange(1, 255)),
		of(router, http+"match.headers")(itemRange(1, 10, "{name: h}")),
		of(router, http+"match.headers[0].name")(lengthRange(1, 50)),
		of(router, http+"match.headers[0].match.exact")(lengthRange(1, 255)),
		of(router, http+"match.headers[0].match.prefix")(lengthRange(1, 255)),
		of(router, http+"match.headers[0].match.suffix")(lengthRange(1, 255)),
		of(router, http+"match.headers[0].match.regex")(lengthRange(1, 255)),
		of(router, http+"match.queryParameters")(itemRange(1, 10, "{name: q}")),
		of(router, http+"match.method")(methods()),
		of(router, http+"match.scheme")(enum("http", "https")),
		of(router, http+"match.port")(intRange(0, -1)),
		of(router, http+"action.weightedTargets")(itemRange(1, 10, "{weight: 1}")),
		of(router, http+"action.weightedTargets[0].weight")(intRange(0, 100)),
		of(router, http+"action.weightedTargets[0].port")(intRange(0, -1)),
		of(router, http+"retryPolicy.httpRetryEvents")(itemRange(1, 25, "server-error")),
		of(router, http+"retryPolicy.httpRetryEvents[0]")(enum("server-error", "gateway-error", "client-error",
			"stream-error")),
		of(router, http+"retryPolicy.tcpRetryEvents")(itemRange(1, 1, "connection-error")),
		of(router, http+"retryPolicy.tcpRetryEvents[0]")(enum("connection-error")),
		of(router, http+"retryPolicy.maxRetries")(intRange(0, -1)),
		of(router, grpc+"match.methodName")(lengthRange(1, 50)),
		of(router, grpc+"match.port")(intRange(0, -1)),
		of(router, grpc+"retryPolicy.grpcRetryEvents")(itemRange(1, 5, "internal")),
		of(router, grpc+"retryPolicy.grpcRetryEvents[0]")(enum("cancelled", "deadline-exceeded", "internal",
			"resource-exhausted", "unavailable")),
		of(router, "routes[0].tcpRoute.match")(list("/"), list(absent, some)),
		of(router, "routes[0].tcpRoute.match.port")(intRange(0, -1)),

		of("VirtualService", "provider")(list("n"), list(absent, some)),

		of(gateway, "listeners")(list(some), list(absent, repeat(0, ""))),
		of(gateway, listener+"portMapping.port")(intRange(1, 65535)),
		of(gateway, listener+"portMapping.protocol")(list("tcp", "udp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.protocol")(list("tcp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.healthyThreshold")(list(1, 11), list(absent, 2, 10)),
		of(gateway, listener+"healthCheck.unhealthyThreshold")(intRange(2, 10)),
		of(gateway, listener+"healthCheck.intervalMillis")(intRange(5000, 300000)),
		of(gateway, listener+"healthCheck.timeoutMillis")(intRange(2000, 60000)),
		of(gateway, listener+"healthCheck.port")(intRange(1, 65535)),
		of(gateway, listener+"connectionPool.http.maxConnections")(intRange(1, -1)),
		of(gateway, listener+"connectionPool.http.maxPendingRequests")(intRange(1, -1)),
		of(gateway, listener+"connectionPool.http2.maxRequests")(intRange(1, -1)),
		of(gateway, listener+"connectionPool.grpc.maxRequests")(intRange(1, -1)),
		of(gateway, listener+"tls.mode")(enum("DISABLED", "PERMISSIVE", "STRICT")),

		of(route, "priority")(intRange(0, 1000)),
		of(route, gwHTTP+"match.path.exact")(lengthRange(1, 255)),
		of(route, gwHTTP+"match.path.regex")(lengthRange(1, 255)),
		of(route, gwHTTP+"match.hostname.exact")(lengthRange(1, 253)),
		of(route, gwHTTP+"match.hostname.suffix")(lengthRange(1, 253)),
		of(route, gwHTTP+"match.method")(methods()),
		of(route, gwHTTP+"match.port")(intRange(0, -1)),
		of(route, gwHTTP+"action.target.port")(intRange(0, -1)),
		of(route, gwHTTP+"action.rewrite.prefix.defaultPrefix")(enum("ENABLED", "DISABLED")),
		of(route, gwHTTP+"action.rewrite.prefix.value")(lengthRange(1, 255)),
		of(route, gwHTTP+"action.rewrite.path.exact")(lengthRange(1, 255)),
		of(route, gwHTTP+"action.rewrite.hostname.defaultTargetHostname")(enum("ENABLED", "DISABLED")),
	}
}
