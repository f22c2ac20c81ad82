package fields

import (
	"encoding/json"
	"strings"
)

// known are valid values for fields whose schema is not specific enough, by the end of the kind and the path: "KIND
// spec.NAME". The longest one that matches is used.
var known = map[string][]any{
	"hostname": {"a.example", "b.example"}, "regex": {"/a.*", "/b.*"}, "match.prefix": {"/a", "/b"},
	"path.exact": {"/a", "/b"},
	"Ref.name":   {"one", "gone"}, "Ref.namespace": {"ns", "other"}, "meshRef.name": {"recorded", "m", "gone"},
	"meshRef.uid": {"uid-recorded", "uid-gone"}, "virtualGatewayRef.uid": {"uid-one", "uid-gone"},
	"virtualNodeARN": {
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualNode/one_ns",
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualNode/one_other",
	},
	"virtualRouterARN": {
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualRouter/one_ns",
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualRouter/one_other",
	},
	"virtualServiceARN": {
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualService/one.ns",
		"arn:aws:appmesh:us-west-2:1:mesh/m/virtualService/one.other",
	},
	"certificateARN": {"arn:aws:acm:us-west-2:1:certificate/a", "arn:aws:acm:us-west-2:1:certificate/b"},
	"certificateAuthorityARNs": {
		[]any{"arn:aws:acm-pca:us-west-2:1:certificate-authority/a"}, []any{"arn:aws:acm-pca:us-west-2:1:unknown"},
	},
	"backendGroups[].name": {"target", "one", "gone"}, "backendGroups[].namespace": {"ns", "other"},
	"virtualservices[].name": {"member", "*", "gone"}, "virtualservices[].namespace": {"ns", "other"},
	"meshOwner": {"123456789012", "210987654321"}, "file.path": {"/dev/stdout", "/var/log/access.log"},
	"trust.sds.secretName": {"spiffe://cluster.local", "spiffe://example.org"},
	"certificate.sds.secretName": {
		"spiffe://cluster.local/ns/ns/sa/a", "spiffe://cluster.local/ns/ns/sa/b", "spiffe://example.org/a",
	},
	"port": {8080, 8081, 8083}, "values": {[]any{"v"}, []any{"w"}}, "key": {"k", "l"},
	"matchLabels": {map[string]any{"k": "v"}, map[string]any{"k": "w"}}, "operator": {"In", "NotIn"},
	"healthCheck.protocol": {"http", "tcp"}, "healthCheck.intervalMillis": {5000, 6000}, "healthCheck.path": {"/a", "/b"},
	"healthCheck.timeoutMillis": {2000, 3000}, "healthCheck.port": {8080, 8081},
	"interval.value": {3, 4}, "baseEjectionDuration.value": {3, 4},
	"tls.mode": {"STRICT", "PERMISSIVE", "DISABLED"}, "maxRetries": {2, 3}, "range.start": {1, 2},
	"range.end":  {100, 200},
	"idle.value": {3, 4}, "perRequest.value": {3, 4}, "perRetryTimeout.value": {3, 4}, "namespaceName": {"n", "o"},
	"serviceName": {"s", "t"}, "headers": {map[string]any{"a": "b"}, []any{map[string]any{"a": "c"}}}, "backends[].weight": {1, 2},
	"backends[].service": {"one", "two", "gone"}, "spec.service": {"one", "gone"}, "matches[].kind": {"HTTPRouteGroup", "TCPRoute"},
	"matches[].name": {"some", "target", "gone"}, "apiGroup": {"specs.smi-spec.io", "other.example"},
	"destination.name": {"one", "two"}, "destination.namespace": {"ns", "other"}, "rules[].name": {"target", "gone"},
	"destination.kind": {"ServiceAccount", "Group"}, "sources[].kind": {"ServiceAccount", "Group"},
	"matchFields[].key": {"metadata.labels.k", "metadata.labels.l"}, "matchNamespace": {"ns", "other"}, "matchService": {"one", "gone"},
	"spec.listener.spec": {tcp(9000), tcp(9001)}, "cluster.spec": {tcp(8080), tcp(8081)}, "rules[].match": {header("a"), header("b")},
	"loadbalancer.policy": {"RoundRobin", "ConsistentHash"}, "rewrite[].path": {"/HTTP/headers/a", "/labels/a"},
	"rewrite[].value": {"a", "b"}, "action.route": {"target", "other"}, "action.routeRef": {"target", "other"},
	"spec.destination": {"target", "one"}, "destinationRef": {"target", "through"}, "spec.cluster": {"target", "one"},
	"spec.ingress": {[]any{"through"}, []any{"one"}}, "spec.egress": {[]any{"through"}, []any{"one"}},
	"retry_on": {"connect-failure", "always"}, "linkedVirtualService": {"others", "one", "gone"},
	"rules[].kind": {"HTTPRouteGroup", "UDPRoute"}, "methods": {[]any{"GET"}, []any{"POST"}},

	"IngressBackend spec.sources[].kind": {"Service", "AuthenticatedPrincipal", "IPRange"},
	"AccessControl spec.sources[].kind":  {"Service", "AuthenticatedPrincipal", "IPRange"},
	"IngressBackend spec.sources[].name": {"outside", "gone"}, "AccessControl spec.sources[].name": {"outside", "gone"},
	"sources[].namespace": {"ns", "other"}, "backends[].name": {"one", "two"}, "port.number": {8080, 8082},
	"port.protocol": {"https", "http", "udp"}, "sniHosts": {[]any{"a.example"}, []any{"b.example"}},
	"Egress spec.sources[].name": {"one", "two"}, "spec.hosts": {[]any{"a.example"}, []any{"b.example"}},
	"ipAddresses": {[]any{"10.8.0.0/16"}, []any{"10.9.0.0/16"}}, "ports[].number": {80, 82},
	"ports[].protocol": {"http", "https"}, "source.kind": {"ServiceAccount", "Group"}, "source.name": {"one", "two"},
	"source.namespace": {"ns", "other"}, "destinations[].kind": {"Service", "Group"},
	"destinations[].name": {"one", "gone"}, "destinations[].namespace": {"ns", "other"},
	"retryOn": {"5xx", "reset"}, "perTryTimeout": {"1s", "2s"}, "retryBackoffBaseInterval": {"1s", "2s"},
	"UpstreamTrafficSetting spec.host": {"one.ns.svc.cluster.local", "two.ns.svc.cluster.local"},
	"connectTimeout":                   {"1s", "2s"}, "responseStatusCode": {429, 503}, "local.unit": {"second", "minute"},
	"local.http.unit": {"second", "minute"}, "local.tcp.unit": {"second", "minute"},
}

func tcp(port int) map[string]any { return map[string]any{"TCP": map[string]any{"port": port}} }

func header(value string) map[string]any {
	return map[string]any{"op": "test", "path": "/HTTP/headers/a", "value": value}
}

// valuesOf returns valid values of a field, at least two if possible.
func valuesOf(path string, s *schema) []any {
	best := ""
	for end := range known {
		if strings.HasSuffix(path, end) && len(end) > len(best) {
			best = end
		}
	}
	if best != "" {
		return known[best]
	}
	var out []any
	for _, e := range s.Enum {
		var v any
		if json.Unmarshal(e.Raw, &v) == nil {
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	switch s.Type {
	case "boolean":
		return []any{true, false}
	case "integer":
		low := int64(1)
		if s.Minimum != nil {
			low = int64(*s.Minimum)
		}
		return []any{low, low + 1, low + 2}
	case "array":
		for _, item := range valuesOf(path+"[]", s.Items.Schema) {
			out = append(out, []any{item})
		}
		return out
	case "object":
		return []any{map[string]any{}, map[string]any{"k": "v"}}
	}
	return []any{"aaa", "bbb"}
}

// valid are values of objects that have no required field, but need one of several. They are functions, because the
// caller changes the value.
var valid = map[string]func() map[string]any{
	"spec.http2Route.match":                  func() map[string]any { return map[string]any{"prefix": "/p"} },
	"spec.grpcRoute.match":                   func() map[string]any { return map[string]any{"serviceName": "p"} },
	"spec.listener.rules[].action.rewrite[]": rewrite, "spec.rules[].action.rewrite[]": rewrite,
	"spec.http2Route.action.target.virtualService": target, "spec.grpcRoute.action.target.virtualService": target,
}

func rewrite() map[string]any { return map[string]any{"path": "/labels/a", "valueStr": "a"} }

func target() map[string]any {
	return map[string]any{"virtualServiceRef": map[string]any{"name": "target"}}
}

// minimal returns the minimal valid value.
func minimal(path string, s *schema) any {
	if value := valid[path]; value != nil {
		return value()
	}
	switch {
	case s.Type == "object" && len(s.Properties) > 0:
		out := map[string]any{}
		for _, name := range s.Required {
			p := s.Properties[name]
			out[name] = minimal(path+"."+name, &p)
		}
		if strings.HasSuffix(path, "matchExpressions[]") || strings.HasSuffix(path, "matchFields[]") {
			out["values"] = []any{"v"} // required by the tested operators
		}
		return out
	case s.Type == "array" && s.Items != nil && len(s.Items.Schema.Properties) > 0:
		return []any{minimal(path, s.Items.Schema)}
	}
	return valuesOf(path, s)[0]
}
