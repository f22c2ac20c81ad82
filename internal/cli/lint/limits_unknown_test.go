package lint_test

// foreign are fields that people write although the released API does not have them: from the first design, from App
// Mesh's own API, or from a neighboring kind. What they ought to have written is in fullSpecs.
func foreign() []limitOf {
	no := func(kind, path string, value any) limitOf {
		return limitOf{kind, "spec." + path, list(value), list(absent)}
	}
	some, second := map[string]any{}, map[string]any{"unit": "s", "value": 1}
	out := []limitOf{
		no("VirtualNode", "serviceDiscovery.dns.ipPreference", "IPv4_ONLY"),
		no("VirtualNode", "listeners[0].tls.validation.trust.acm",
			map[string]any{"certificateAuthorityARNs": list("a")}),
		no("VirtualNode", "backendDefaults.clientPolicy.tls.mode", "STRICT"),
		no("VirtualService", "hosts", list("s.example.com")),
		no("VirtualRouter", "routes[0].http", some),
		no("VirtualRouter", "routes[0].tcpRoute.match.prefix", "/"),
		no("VirtualRouter", "routes[0].tcpRoute.retryPolicy",
			map[string]any{"maxRetries": 1, "perRetryTimeout": second}),
		no("VirtualGateway", "listeners[0].timeout", map[string]any{"http": map[string]any{"idle": second}}),
		no("VirtualGateway", "listeners[0].outlierDetection", some),
		no("VirtualGateway", "backends", times(0, "")),
		no("GatewayRoute", "tcpRoute", some),
		no("GatewayRoute", "httpRoute.match.scheme", "http"),
		no("GatewayRoute", "httpRoute.timeout", map[string]any{"idle": second}),
		no("GatewayRoute", "httpRoute.retryPolicy", some),
		no("GatewayRoute", "httpRoute.action.weightedTargets", times(0, "")),
		no("GatewayRoute", "httpRoute.action.target.weight", 1),
		no("GatewayRoute", "grpcRoute.match.methodName", "m"),
		no("GatewayRoute", "grpcRoute.action.rewrite.prefix", some),
		no("GatewayRoute", "grpcRoute.action.rewrite.path", some),
		no("BackendGroup", "virtualServices", times(0, "")),
		no("BackendGroup", "awsName", "g"),
	}
	for kind := range fullSpecs { // nothing has to be said of any kind, but a spec has fields
		out = append(out, limitOf{kind, "spec", list(7), list(absent, some)})
	}
	return out
}
