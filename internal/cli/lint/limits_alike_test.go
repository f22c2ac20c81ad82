package lint_test

import (
	"slices"
	"strings"
)

// alike says that a field of a kind is held to the same limits as another one.
type alike struct{ kind, path, of, as string }

// alikes come with those that others build on first.
var alikes = func() []alike {
	const (
		node, service, router, gateway, route, group = "VirtualNode", "VirtualService", "VirtualRouter", "VirtualGateway", "GatewayRoute", "BackendGroup"
		listener, http, http2, grpc, tcp             = "spec.listeners[0].", "spec.routes[0].httpRoute", "spec.routes[0].http2Route", "spec.routes[0].grpcRoute", "spec.routes[0].tcpRoute"
	)
	const certificate, policy, duration = listener +
		"tls.certificate.file", "spec.backendDefaults.clientPolicy.tls.", listener + "outlierDetection.interval"
	out := []alike{
		{node, listener + "outlierDetection.baseEjectionDuration", node, duration},
		{node, listener + "timeout.http.perRequest", node, duration},
		{node, listener + "timeout.http.idle", node, duration},
		{node, listener + "timeout.tcp.idle", node, duration},
		{router, http + ".timeout.perRequest", node, duration},
		{router, http + ".timeout.idle", node, duration},
		{router, tcp + ".timeout.idle", node, duration},
		{router, http + ".retryPolicy.perRetryTimeout", node, duration},
		{router, grpc + ".retryPolicy.perRetryTimeout", node, duration},
		{node, listener + "tls.validation.trust.file.certificateChain", node, certificate + ".certificateChain"},
		{node, listener + "tls.validation.trust.sds", node, listener + "tls.certificate.sds"},
		{node, policy + "certificate.file", node, certificate},
		{node, policy + "certificate.sds", node, listener + "tls.certificate.sds"},
		{node, policy + "validation.trust.file", node, listener + "tls.validation.trust.file"},
		{node, policy + "validation.trust.sds", node, listener + "tls.certificate.sds"},
		{node, policy + "validation.subjectAlternativeNames", node, listener + "tls.validation.subjectAlternativeNames"},
		{node, listener + "timeout.http2", node, listener + "timeout.http"},
		{node, listener + "timeout.grpc", node, listener + "timeout.http"},
		{node, "spec.backends[0].virtualService.clientPolicy", node, "spec.backendDefaults.clientPolicy"},
		{router, grpc + ".match.metadata", router, http + ".match.headers"},
		{router, grpc + ".retryPolicy.httpRetryEvents", router, http + ".retryPolicy.httpRetryEvents"},
		{router, grpc + ".retryPolicy.tcpRetryEvents", router, http + ".retryPolicy.tcpRetryEvents"},
		{router, grpc + ".retryPolicy.maxRetries", router, http + ".retryPolicy.maxRetries"},
		{router, grpc + ".action", router, http + ".action"},
		{router, tcp + ".action", router, http + ".action"},
		{router, grpc + ".timeout", router, http + ".timeout"},
		{router, http2, router, http},
		{gateway, "spec.backendDefaults", node, "spec.backendDefaults"},
		{gateway, "spec.logging", node, "spec.logging"},
		{gateway, listener + "tls.certificate", node, listener + "tls.certificate"},
		{gateway, listener + "tls.validation", node, "spec.backendDefaults.clientPolicy.tls.validation"},
		{route, "spec.httpRoute.match.headers", router, http + ".match.headers"},
		{route, "spec.httpRoute.match.queryParameters", router, http + ".match.queryParameters"},
		{route, "spec.grpcRoute.match.metadata", router, http + ".match.headers"},
		{route, "spec.grpcRoute.match.hostname", route, "spec.httpRoute.match.hostname"},
		{route, "spec.grpcRoute.match.port", route, "spec.httpRoute.match.port"},
		{route, "spec.grpcRoute.action.target", route, "spec.httpRoute.action.target"},
		{route, "spec.grpcRoute.action.rewrite.hostname", route, "spec.httpRoute.action.rewrite.hostname"},
		{route, "spec.http2Route", route, "spec.httpRoute"},
	}
	for _, kind := range []string{service, router, gateway, route, group} {
		out = append(out, alike{kind, "spec.meshRef", node, "spec.meshRef"})
	}
	for _, s := range []struct{ kind, path string }{
		{node, "spec.podSelector"}, {gateway, "spec.podSelector"}, {gateway, "spec.namespaceSelector"},
		{gateway, "spec.gatewayRouteSelector"},
	} {
		out = append(out, alike{s.kind, s.path, "Mesh", "spec.namespaceSelector"})
	}
	return out
}()

// limits are all rows, each once.
func limits() []limitOf {
	out := slices.Concat(ownLimits(), needed(), foreign())
	for _, a := range alikes {
		for _, row := range out {
			rest, below := strings.CutPrefix(row.path, a.as)
			switch {
			case !below || row.kind != a.of || rest != "" && !strings.ContainsAny(rest[:1], ".["):
			case rest == "" && slices.Equal(row.refused, list(absent)): // that a field is needed is a matter of what it is a part of
			default:
				out = append(out, limitOf{a.kind, a.path + rest, row.refused, row.accepted})
			}
		}
	}
	return out
}
