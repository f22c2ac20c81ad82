package lint_test

// fullSpecs have a valid value for every field that has a limit.
var fullSpecs = map[string]string{
	"Mesh": `
egressFilter: {type: DROP_ALL}
meshServiceDiscovery: {ipPreference: IPv4_ONLY}
namespaceSelector: {matchExpressions: [{key: k, operator: Exists}]}`,
	"VirtualNode": `
listeners:
  - portMapping: {port: 80, protocol: http}
    healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, path: /, port: 80}
    outlierDetection: {maxServerErrors: 1, interval: {unit: s, value: 1}, baseEjectionDuration: {unit: s, value: 1}, maxEjectionPercent: 1}
    connectionPool: {tcp: {maxConnections: 1}, http: {maxConnections: 1, maxPendingRequests: 1}, http2: {maxRequests: 1}, grpc: {maxRequests: 1}}
    timeout: {http: {perRequest: {unit: s, value: 1}, idle: {unit: s, value: 1}}, tcp: {idle: {unit: s, value: 1}}}
    tls:
      mode: STRICT
      certificate: {acm: {certificateARN: a}, file: {certificateChain: c, privateKey: k}, sds: {secretName: s}}
      validation: {trust: {file: {certificateChain: c}, sds: {secretName: s}}, subjectAlternativeNames: {match: {exact: [a]}}}
serviceDiscovery: {dns: {hostname: h, responseType: ENDPOINTS}, awsCloudMap: {namespaceName: a, serviceName: b, attributes: [{key: k, value: v}]}}
backends: [{virtualService: {virtualServiceRef: {name: s}}}]
backendGroups: [{name: g}]
backendDefaults:
  clientPolicy:
    tls:
      ports: [1]
      certificate: {file: {certificateChain: c, privateKey: k}, sds: {secretName: s}}
      validation:
        trust: {acm: {certificateAuthorityARNs: [a]}, file: {certificateChain: c}, sds: {secretName: s}}
        subjectAlternativeNames: {match: {exact: [a]}}
logging: {accessLog: {file: {path: p, format: {json: [{key: k, value: v}], text: t}}}}
meshRef: {name: m, uid: u}
podSelector: {}`,
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
	"VirtualService": `{provider: {virtualNode: {virtualNodeRef: {name: node}}, virtualRouter: {virtualRouterRef: {name: r}}}}`,
	"VirtualGateway": `
listeners:
  - portMapping: {port: 80, protocol: http}
    healthCheck: {healthyThreshold: 2, unhealthyThreshold: 2, intervalMillis: 5000, timeoutMillis: 2000, protocol: http, port: 80}
    connectionPool: {http: {maxConnections: 1, maxPendingRequests: 1}, http2: {maxRequests: 1}, grpc: {maxRequests: 1}}
    tls: {mode: STRICT, certificate: {acm: {certificateARN: a}}, validation: {trust: {acm: {certificateAuthorityARNs: [a]}}}}`,
	"GatewayRoute": `
priority: 0
httpRoute:
  match: {prefix: /, path: {exact: e, regex: r}, hostname: {exact: e, suffix: s}, headers: [{name: h}], queryParameters: [{name: q}], method: GET, port: 0}
  action: {target: {port: 0, virtualService: {virtualServiceRef: {name: s}}},
    rewrite: {prefix: {defaultPrefix: ENABLED, value: v}, path: {exact: e}, hostname: {defaultTargetHostname: ENABLED}}}
grpcRoute:
  match: {serviceName: s, metadata: [{name: h}]}
  action: {target: {virtualService: {virtualServiceRef: {name: s}}}, rewrite: {hostname: {defaultTargetHostname: ENABLED}}}
virtualGatewayRef: {name: g, uid: u}`,
	"BackendGroup": `{virtualservices: [{name: s}]}`,
}
