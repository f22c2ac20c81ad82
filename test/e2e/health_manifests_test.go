package e2e

// checkedManifests define a service of two pods with a health check and outlier detection. Each pod responds with
// its own name.
const checkedManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: checked}
spec:
  awsName: checked.colors.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: checked}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: checked}
spec:
  podSelector: {matchLabels: {app: checked}}
  listeners:
    - portMapping: {port: 8080, protocol: http}
      healthCheck: {protocol: http, path: /ping, intervalMillis: 5000, timeoutMillis: 2000, healthyThreshold: 2, unhealthyThreshold: 2}
      outlierDetection: {maxServerErrors: 3, interval: {unit: s, value: 1}, baseEjectionDuration: {unit: s, value: 5}, maxEjectionPercent: 50}
  serviceDiscovery: {awsCloudMap: {namespaceName: colors.local, serviceName: checked}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: checked}
spec:
  replicas: 2
  selector: {matchLabels: {app: checked}}
  template:
    metadata: {labels: {app: checked}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=$(POD)]
          env: [{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

// limitedManifests define a service with one pod, whose sidecar has one worker and a connection pool.
const limitedManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: limited}
spec:
  awsName: limited.colors.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: limited}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: limited}
spec:
  podSelector: {matchLabels: {app: limited}}
  listeners:
    - portMapping: {port: 8080, protocol: http}
      connectionPool: {http: {maxConnections: 1, maxPendingRequests: 1}}
  serviceDiscovery: {awsCloudMap: {namespaceName: colors.local, serviceName: limited}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: limited}
spec:
  selector: {matchLabels: {app: limited}}
  template:
    metadata:
      labels: {app: limited}
      annotations: {appmesh.k8s.aws/sidecarEnv: "ENVOY_CONCURRENCY=1"}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=limited]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`
