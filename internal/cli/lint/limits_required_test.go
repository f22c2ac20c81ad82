package lint_test

import "strings"

// requiredFields are the required fields, by kind and parent. Their other limits are in tableCases.
var requiredFields = map[string]map[string]string{
	"Mesh": {
		"egressFilter":                          "type",
		"namespaceSelector.matchExpressions[0]": "key operator",
	},
	"VirtualNode": {
		"listeners[0]":                                              "portMapping",
		"listeners[0].portMapping":                                  "port protocol",
		"listeners[0].healthCheck":                                  "healthyThreshold unhealthyThreshold intervalMillis timeoutMillis protocol",
		"listeners[0].outlierDetection":                             "maxServerErrors interval baseEjectionDuration maxEjectionPercent",
		"listeners[0].outlierDetection.interval":                    "unit value",
		"listeners[0].connectionPool.tcp":                           "maxConnections",
		"listeners[0].connectionPool.http":                          "maxConnections",
		"listeners[0].connectionPool.http2":                         "maxRequests",
		"listeners[0].connectionPool.grpc":                          "maxRequests",
		"listeners[0].tls":                                          "mode certificate",
		"listeners[0].tls.certificate.acm":                          "certificateARN",
		"listeners[0].tls.certificate.file":                         "certificateChain privateKey",
		"listeners[0].tls.certificate.sds":                          "secretName",
		"listeners[0].tls.validation":                               "trust",
		"listeners[0].tls.validation.subjectAlternativeNames":       "match",
		"listeners[0].tls.validation.subjectAlternativeNames.match": "exact",
		"listeners[0].tls.validation.trust.file":                    "certificateChain",
		"serviceDiscovery.dns":                                      "hostname",
		"serviceDiscovery.awsCloudMap":                              "namespaceName serviceName",
		"serviceDiscovery.awsCloudMap.attributes[0]":                "key value",
		"backends[0]":                                               "virtualService",
		"backends[0].virtualService.virtualServiceRef":              "name",
		"backendGroups[0]":                                          "name",
		"backendDefaults.clientPolicy.tls":                          "validation",
		"backendDefaults.clientPolicy.tls.validation":               "trust",
		"backendDefaults.clientPolicy.tls.validation.trust.acm":     "certificateAuthorityARNs",
		"logging.accessLog.file":                                    "path",
		"logging.accessLog.file.format.json[0]":                     "key value",
		"meshRef":                                                   "name uid",
	},
	"VirtualService": {
		"provider.virtualNode.virtualNodeRef":     "name",
		"provider.virtualRouter.virtualRouterRef": "name",
	},
	"VirtualRouter": {
		"listeners[0]":                         "portMapping",
		"listeners[0].portMapping":             "port protocol",
		"routes[0]":                            "name",
		"routes[0].httpRoute":                  "match action",
		"routes[0].httpRoute.match.headers[0]": "name",
		"routes[0].httpRoute.match.headers[0].match.range":             "start end",
		"routes[0].httpRoute.match.queryParameters[0]":                 "name",
		"routes[0].httpRoute.action":                                   "weightedTargets",
		"routes[0].httpRoute.action.weightedTargets[0]":                "weight",
		"routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef": "name",
		"routes[0].httpRoute.retryPolicy":                              "maxRetries perRetryTimeout",
		"routes[0].grpcRoute":                                          "match action",
		"routes[0].grpcRoute.retryPolicy":                              "maxRetries perRetryTimeout",
		"routes[0].tcpRoute":                                           "action",
	},
	"VirtualGateway": {
		"listeners[0]":                      "portMapping",
		"listeners[0].portMapping":          "port protocol",
		"listeners[0].healthCheck":          "unhealthyThreshold intervalMillis timeoutMillis protocol",
		"listeners[0].connectionPool.http":  "maxConnections",
		"listeners[0].connectionPool.http2": "maxRequests",
		"listeners[0].connectionPool.grpc":  "maxRequests",
		"listeners[0].tls":                  "mode certificate",
		"listeners[0].tls.validation":       "trust",
	},
	"GatewayRoute": {
		"httpRoute":               "match action",
		"httpRoute.action":        "target",
		"httpRoute.action.target": "virtualService",
		"httpRoute.action.target.virtualService.virtualServiceRef": "name",
		"grpcRoute":         "match action",
		"grpcRoute.action":  "target",
		"virtualGatewayRef": "name uid",
	},
	"BackendGroup": {
		"virtualservices[0]": "name",
	},
}

// requiredFieldCases returns the test cases of required fields and of statuses.
func requiredFieldCases() []limitCase {
	var out []limitCase
	for kind, parts := range requiredFields {
		for part, names := range parts {
			for _, name := range strings.Fields(names) {
				out = append(out, limitCase{kind, "spec." + part + "." + name, list(absent), list(unchanged)})
			}
		}
		if kind == "BackendGroup" { // its status has no fields
			continue
		}
		out = append(out,
			limitCase{kind, "status.conditions[0].type", list(absent), list(unchanged)},
			limitCase{kind, "status.conditions[0].status", list(absent), list("True", "False", "Unknown")})
	}
	return out
}
