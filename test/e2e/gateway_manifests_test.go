package e2e

import (
	"fmt"
	"strings"
)

// gatewayManifests define a VirtualGateway with TLS on port 8443, whose certificate is in a Secret, its Deployment with
// a container for the proxy, and a client outside the mesh that trusts the authority of the Secret.
const gatewayManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: colors, name: edge}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: colors}}
  gatewayRouteSelector: {matchExpressions: [{key: edge, operator: DoesNotExist}]}
  podSelector: {matchLabels: {app: edge}}
  listeners:
    - portMapping: {port: 8443, protocol: http}
      tls: {mode: STRICT, certificate: {file: {certificateChain: /tls/tls.crt, privateKey: /tls/tls.key}}}
  backendDefaults:
    clientPolicy:
      tls:
        ports: [8085]
        certificate: {file: {certificateChain: /tls/tls.crt, privateKey: /tls/tls.key}}
        validation: {trust: {file: {certificateChain: /tls/ca.crt}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: edge}
spec: {selector: {app: edge}, ports: [{port: 8443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: edge}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 0}}
  selector: {matchLabels: {app: edge}}
  template:
    metadata: {labels: {app: edge}}
    spec:
      containers:
        - name: envoy
          image: 840364872350.dkr.ecr.us-west-2.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod
          ports: [{containerPort: 8443}]
          readinessProbe: {httpGet: {path: /ready, port: 9901}, periodSeconds: 1}
          volumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
      volumes: [{name: tls, secret: {secretName: edge-tls}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: clients}
---
apiVersion: v1
kind: Service
metadata: {namespace: clients, name: client}
spec: {selector: {app: client}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: clients, name: client}
spec:
  selector: {matchLabels: {app: client}}
  template:
    metadata: {labels: {app: client}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: client
          image: anymesh.dev/colors
          args: [drive, --rate=0]
          env: [{name: SSL_CERT_FILE, value: /trust/ca.crt}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          volumeMounts: [{name: trust, mountPath: /trust}]
      volumes: [{name: trust, configMap: {name: trust}}]
`

// checkedGatewayManifests define a gateway that checks its listener, and the route that answers the check.
const checkedGatewayManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: colors, name: checked-edge}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: colors}}
  gatewayRouteSelector: {matchLabels: {edge: checked}}
  podSelector: {matchLabels: {app: checked-edge}}
  listeners:
    - portMapping: {port: 8090, protocol: http}
      healthCheck: {protocol: http, path: /ping, intervalMillis: 5000, timeoutMillis: 2000, healthyThreshold: 2, unhealthyThreshold: 2}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: GatewayRoute
metadata: {namespace: colors, name: checked-edge, labels: {edge: checked}}
spec:
  httpRoute:
    match: {path: {exact: /ping}}
    action: {target: {virtualService: {virtualServiceRef: {name: color}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: checked-edge}
spec:
  selector: {matchLabels: {app: checked-edge}}
  template:
    metadata: {labels: {app: checked-edge}}
    spec:
      containers: [{name: envoy, image: aws-appmesh-envoy}]
`

// mutualManifests define a service that requires the certificate of the gateway, and its route.
const mutualManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: mutual}
spec: {provider: {virtualNode: {virtualNodeRef: {name: mutual}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: mutual}
spec:
  podSelector: {matchLabels: {app: mutual}}
  listeners:
    - portMapping: {port: 8085, protocol: http}
      tls:
        mode: STRICT
        certificate: {file: {certificateChain: /tls/tls.crt, privateKey: /tls/tls.key}}
        validation:
          trust: {file: {certificateChain: /tls/ca.crt}}
          subjectAlternativeNames: {match: {exact: [edge.colors.svc]}}
  serviceDiscovery: {dns: {hostname: mutual.colors.svc.cluster.local}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: mutual}
spec: {selector: {app: mutual}, ports: [{port: 8085}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: mutual}
spec:
  selector: {matchLabels: {app: mutual}}
  template:
    metadata:
      labels: {app: mutual}
      annotations: {appmesh.k8s.aws/secretMounts: "edge-tls:/tls"}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8085, --version=mutual]
          readinessProbe: {httpGet: {path: /healthz, port: 8085}, periodSeconds: 1}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: GatewayRoute
metadata: {namespace: colors, name: mutual}
spec:
  httpRoute:
    match: {prefix: /mutual}
    action: {target: {virtualService: {virtualServiceRef: {name: mutual}}}}
`

// gatewayRouteSpecs are GatewayRoutes of seven kinds, by name.
var gatewayRouteSpecs = map[string]string{
	"prefix": `
  httpRoute:
    match: {prefix: /color}
    action: {target: {virtualService: {virtualServiceRef: {name: color}}}}`,
	"exact": `
  httpRoute:
    match: {path: {exact: /sum}}
    action:
      target: {virtualService: {virtualServiceRef: {name: tally}}, port: 8081}
      rewrite: {path: {exact: /total}}`,
	"regex": `
  httpRoute:
    match: {path: {regex: "/[0-9]+"}}
    action: {target: {virtualService: {virtualServiceRef: {name: tally}}}}`,
	"host": `
  httpRoute:
    match: {hostname: {exact: tally.example}}
    action:
      target: {virtualService: {virtualServiceRef: {name: tally}}}
      rewrite: {hostname: {defaultTargetHostname: DISABLED}}`,
	"suffix": `
  httpRoute:
    match: {hostname: {suffix: .color.example}, prefix: /}
    action: {target: {virtualService: {virtualServiceRef: {name: color}}}}`,
	"header": `
  priority: 1
  httpRoute:
    match: {prefix: /, headers: [{name: kind, match: {prefix: ta}}]}
    action:
      target: {virtualService: {virtualServiceRef: {name: tally}}}
      rewrite: {prefix: {value: /by-header/}}`,
	"query": `
  httpRoute:
    match: {prefix: /any/, method: GET, queryParameters: [{name: shade, match: {exact: dark}}]}
    action:
      target: {virtualService: {virtualServiceRef: {name: color}}}
      rewrite: {prefix: {defaultPrefix: DISABLED}}`,
}

// gatewayRoutes returns the manifests of gatewayRouteSpecs.
func gatewayRoutes() string {
	var all []string
	for name, spec := range gatewayRouteSpecs {
		all = append(all, fmt.Sprintf(
			"apiVersion: appmesh.k8s.aws/v1beta2\nkind: GatewayRoute\nmetadata: {namespace: colors, name: %s}\nspec:%s\n", name,
			spec))
	}
	return strings.Join(all, "---\n")
}
