package lint_test

import (
	"slices"
	"strings"
)

// sharedLimits is a field of a kind that has the same limits as another field.
type sharedLimits struct{ kind, path, sourceKind, sourcePath string }

// allSharedLimits lists the fields with shared limits. An entry follows the entries that its source depends on.
var allSharedLimits = func() []sharedLimits {
	const (
		node, service, router, gateway, route, group = "VirtualNode", "VirtualService", "VirtualRouter", "VirtualGateway", "GatewayRoute", "BackendGroup"
		listener, http, http2, grpc, tcp             = "spec.listeners[0].", "spec.routes[0].httpRoute", "spec.routes[0].http2Route", "spec.routes[0].grpcRoute", "spec.routes[0].tcpRoute"
	)
	const certificate, policy, duration = listener +
		"tls.certificate.file", "spec.backendDefaults.clientPolicy.tls.", listener + "outlierDetection.interval"
	out := []sharedLimits{
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
		out = append(out, sharedLimits{kind, "spec.meshRef", node, "spec.meshRef"})
	}
	for _, s := range []struct{ kind, path string }{
		{node, "spec.podSelector"}, {gateway, "spec.podSelector"}, {gateway, "spec.namespaceSelector"},
		{gateway, "spec.gatewayRouteSelector"},
	} {
		out = append(out, sharedLimits{s.kind, s.path, "Mesh", "spec.namespaceSelector"})
	}
	return out
}()

// limitCases returns the test cases of all fields, each once.
func limitCases() []limitCase {
	out := slices.Concat(tableCases(), requiredFieldCases(), unknownFieldCases())
	for _, a := range allSharedLimits {
		for _, row := range out {
			rest, below := strings.CutPrefix(row.path, a.sourcePath)
			switch {
			case !below || row.kind != a.sourceKind || rest != "" && !strings.ContainsAny(rest[:1], ".["):
			case rest == "" && slices.Equal(row.invalid, list(absent)): // the parent defines whether a field is required
			default:
				out = append(out, limitCase{a.kind, a.path + rest, row.invalid, row.valid})
			}
		}
	}
	return out
}
