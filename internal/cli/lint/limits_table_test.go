package lint_test

// ownLimits are the rows, by kind and in the order of the fields. A field that is alike another (alikes) has its rows.
func ownLimits() []limitOf {
	const (
		node, router, gateway, route = "VirtualNode", "VirtualRouter", "VirtualGateway", "GatewayRoute"
		listener, http, grpc         = "listeners[0].", "routes[0].httpRoute.", "routes[0].grpcRoute."
		gwHTTP                       = "httpRoute."
	)

	of := func(kind, path string) func(refused, accepted []any) limitOf {
		return func(refused, accepted []any) limitOf { return limitOf{kind, "spec." + path, refused, accepted} }
	}
	some := map[string]any{}
	protocols := func() ([]any, []any) { return oneOf("grpc", "http", "http2", "tcp") }
	methods := func() ([]any, []any) {
		return oneOf("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
	}
	return []limitOf{
		of("Mesh", "egressFilter.type")(oneOf("ALLOW_ALL", "DROP_ALL")),
		of("Mesh", "meshServiceDiscovery.ipPreference")(oneOf("IPv6_ONLY", "IPv4_ONLY")),

		of(node, "listeners")(list(some), list(absent, times(0, ""))),
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
		of(node, listener+"outlierDetection.maxEjectionPercent")(from(0, 100)),
		of(node, listener+"connectionPool.tcp.maxConnections")(from(1, -1)),
		of(node, listener+"connectionPool.http.maxConnections")(from(1, -1)),
		of(node, listener+"connectionPool.http.maxPendingRequests")(from(1, -1)),
		of(node, listener+"connectionPool.http2.maxRequests")(from(1, -1)),
		of(node, listener+"connectionPool.grpc.maxRequests")(from(1, -1)),
		of(node, listener+"tls.mode")(oneOf("DISABLED", "PERMISSIVE", "STRICT")),
		of(node, listener+"tls.certificate.file.certificateChain")(lengths(1, 255)),
		of(node, listener+"tls.certificate.file.privateKey")(lengths(1, 255)),
		of(node, "serviceDiscovery.dns.responseType")(oneOf("ENDPOINTS", "LOADBALANCER")),
		of(node, "serviceDiscovery.awsCloudMap.namespaceName")(lengths(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.serviceName")(lengths(1, 1024)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].key")(lengths(1, 255)),
		of(node, "serviceDiscovery.awsCloudMap.attributes[0].value")(lengths(1, 1024)),
		of(node, "backendDefaults.clientPolicy.tls.validation.trust.acm.certificateAuthorityARNs")(items(1, 3, "a")),
		of(node, "backendDefaults.clientPolicy.tls.ports")(list(some), list(absent, times(0, ""))),
		of(node, "backendDefaults.clientPolicy.tls.ports[0]")(from(1, 65535)),
		of(node, "backendDefaults.clientPolicy.tls.enforce")(list("true"), list(absent, true, false)),
		of(node, "logging.accessLog.file.path")(lengths(1, 255)),
		of(node, "logging.accessLog.file.format.json[0].key")(list(""), list("k")),
		of(node, "logging.accessLog.file.format.json[0].value")(list(""), list("v")),

		of(router, "listeners")(items(1, -1, "{portMapping: {port: 80, protocol: http}}")),
		of(router, listener+"portMapping.port")(from(1, 65535)),
		of(router, listener+"portMapping.protocol")(protocols()),
		of(router, "routes[0].priority")(from(0, 1000)),
		of(router, http+"match.path.exact")(lengths(1, 255)),
		of(router, http+"match.path.regex")(lengths(1, 255)),
		of(router, http+"match.headers")(items(1, 10, "{name: h}")),
		of(router, http+"match.headers[0].name")(lengths(1, 50)),
		of(router, http+"match.headers[0].match.exact")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.prefix")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.suffix")(lengths(1, 255)),
		of(router, http+"match.headers[0].match.regex")(lengths(1, 255)),
		of(router, http+"match.queryParameters")(items(1, 10, "{name: q}")),
		of(router, http+"match.method")(methods()),
		of(router, http+"match.scheme")(oneOf("http", "https")),
		of(router, http+"match.port")(from(0, -1)),
		of(router, http+"action.weightedTargets")(items(1, 10, "{weight: 1}")),
		of(router, http+"action.weightedTargets[0].weight")(from(0, 100)),
		of(router, http+"action.weightedTargets[0].port")(from(0, -1)),
		of(router, http+"retryPolicy.httpRetryEvents")(items(1, 25, "server-error")),
		of(router, http+"retryPolicy.httpRetryEvents[0]")(oneOf("server-error", "gateway-error", "client-error",
			"stream-error")),
		of(router, http+"retryPolicy.tcpRetryEvents")(items(1, 1, "connection-error")),
		of(router, http+"retryPolicy.tcpRetryEvents[0]")(oneOf("connection-error")),
		of(router, http+"retryPolicy.maxRetries")(from(0, -1)),
		of(router, grpc+"match.methodName")(lengths(1, 50)),
		of(router, grpc+"match.port")(from(0, -1)),
		of(router, grpc+"retryPolicy.grpcRetryEvents")(items(1, 5, "internal")),
		of(router, grpc+"retryPolicy.grpcRetryEvents[0]")(oneOf("cancelled", "deadline-exceeded", "internal",
			"resource-exhausted", "unavailable")),
		of(router, "routes[0].tcpRoute.match")(list("/"), list(absent, some)),
		of(router, "routes[0].tcpRoute.match.port")(from(0, -1)),

		of("VirtualService", "provider")(list("n"), list(absent, some)),

		of(gateway, "listeners")(list(some), list(absent, times(0, ""))),
		of(gateway, listener+"portMapping.port")(from(1, 65535)),
		of(gateway, listener+"portMapping.protocol")(list("tcp", "udp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.protocol")(list("tcp"), list("grpc", "http", "http2")),
		of(gateway, listener+"healthCheck.healthyThreshold")(list(1, 11), list(absent, 2, 10)),
		of(gateway, listener+"healthCheck.unhealthyThreshold")(from(2, 10)),
		of(gateway, listener+"healthCheck.intervalMillis")(from(5000, 300000)),
		of(gateway, listener+"healthCheck.timeoutMillis")(from(2000, 60000)),
		of(gateway, listener+"healthCheck.port")(from(1, 65535)),
		of(gateway, listener+"connectionPool.http.maxConnections")(from(1, -1)),
		of(gateway, listener+"connectionPool.http.maxPendingRequests")(from(1, -1)),
		of(gateway, listener+"connectionPool.http2.maxRequests")(from(1, -1)),
		of(gateway, listener+"connectionPool.grpc.maxRequests")(from(1, -1)),
		of(gateway, listener+"tls.mode")(oneOf("DISABLED", "PERMISSIVE", "STRICT")),

		of(route, "priority")(from(0, 1000)),
		of(route, gwHTTP+"match.path.exact")(lengths(1, 255)),
		of(route, gwHTTP+"match.path.regex")(lengths(1, 255)),
		of(route, gwHTTP+"match.hostname.exact")(lengths(1, 253)),
		of(route, gwHTTP+"match.hostname.suffix")(lengths(1, 253)),
		of(route, gwHTTP+"match.method")(methods()),
		of(route, gwHTTP+"match.port")(from(0, -1)),
		of(route, gwHTTP+"action.target.port")(from(0, -1)),
		of(route, gwHTTP+"action.rewrite.prefix.defaultPrefix")(oneOf("ENABLED", "DISABLED")),
		of(route, gwHTTP+"action.rewrite.prefix.value")(lengths(1, 255)),
		of(route, gwHTTP+"action.rewrite.path.exact")(lengths(1, 255)),
		of(route, gwHTTP+"action.rewrite.hostname.defaultTargetHostname")(oneOf("ENABLED", "DISABLED")),
	}
}
