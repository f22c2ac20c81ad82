package lint_test

// unknownFieldCases returns fields that users write although the released API does not have them: from the first
// design of the API, from the AWS App Mesh API, or from a similar kind. fullSpecs has the correct fields.
func unknownFieldCases() []limitCase {
	unknown := func(kind, path string, value any) limitCase {
		return limitCase{kind, "spec." + path, list(value), list(absent)}
	}
	some, second := map[string]any{}, map[string]any{"unit": "s", "value": 1}
	out := []limitCase{
		unknown("VirtualNode", "serviceDiscovery.dns.ipPreference", "IPv4_ONLY"),
		unknown("VirtualNode", "listeners[0].tls.validation.trust.acm",
			map[string]any{"certificateAuthorityARNs": list("a")}),
		unknown("VirtualNode", "backendDefaults.clientPolicy.tls.mode", "STRICT"),
		unknown("VirtualService", "hosts", list("s.example.com")),
		unknown("VirtualRouter", "routes[0].http", some),
		unknown("VirtualRouter", "routes[0].tcpRoute.match.prefix", "/"),
		unknown("VirtualRouter", "routes[0].tcpRoute.retryPolicy",
			map[string]any{"maxRetries": 1, "perRetryTimeout": second}),
		unknown("VirtualGateway", "listeners[0].timeout", map[string]any{"http": map[string]any{"idle": second}}),
		unknown("VirtualGateway", "listeners[0].outlierDetection", some),
		unknown("VirtualGateway", "backends", repeat(0, "")),
		unknown("GatewayRoute", "tcpRoute", some),
		unknown("GatewayRoute", "httpRoute.match.scheme", "http"),
		unknown("GatewayRoute", "httpRoute.timeout", map[string]any{"idle": second}),
		unknown("GatewayRoute", "httpRoute.retryPolicy", some),
		unknown("GatewayRoute", "httpRoute.action.weightedTargets", repeat(0, "")),
		unknown("GatewayRoute", "httpRoute.action.target.weight", 1),
		unknown("GatewayRoute", "grpcRoute.match.methodName", "m"),
		unknown("GatewayRoute", "grpcRoute.action.rewrite.prefix", some),
		unknown("GatewayRoute", "grpcRoute.action.rewrite.path", some),
		unknown("BackendGroup", "virtualServices", repeat(0, "")),
		unknown("BackendGroup", "awsName", "g"),
	}
	for kind := range fullSpecs { // every spec may be empty, but must be an object
		out = append(out, limitCase{kind, "spec", list(7), list(absent, some)})
	}
	return out
}
