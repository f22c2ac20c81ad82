package e2e

// contourManifests run Contour with one Envoy in the namespace projectcontour.
const contourManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: projectcontour}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: contour-of-the-test}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: projectcontour, name: default}]
---
apiVersion: v1
kind: Service
metadata: {namespace: projectcontour, name: contour}
spec: {selector: {app: contour}, ports: [{port: 8001}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: projectcontour, name: contour}
spec:
  selector: {matchLabels: {app: contour}}
  template:
    metadata: {labels: {app: contour}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: contour
          image: anymesh.dev/contour
          args: [serve, --incluster, --insecure, --xds-address=0.0.0.0, --xds-port=8001, --disable-leader-election,
            --ingress-status-address=192.0.2.1, --envoy-http-access-log=/dev/null, --envoy-https-access-log=/dev/null]
          env:
            - {name: CONTOUR_NAMESPACE, value: projectcontour}
            - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
          readinessProbe: {tcpSocket: {port: 8001}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {namespace: projectcontour, name: envoy}
spec: {selector: {app: envoy}, ports: [{name: http, port: 80, targetPort: 8080}, {name: https, port: 443, targetPort: 8443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: projectcontour, name: envoy}
spec:
  selector: {matchLabels: {app: envoy}}
  template:
    metadata: {labels: {app: envoy}}
    spec:
      terminationGracePeriodSeconds: 1
      initContainers:
        - name: bootstrap
          image: anymesh.dev/contour
          args: [bootstrap, /config/envoy.json, --xds-address=contour, --xds-port=8001, --xds-resource-version=v3]
          env: [{name: CONTOUR_NAMESPACE, value: projectcontour}]
          volumeMounts: [{name: config, mountPath: /config}, {name: admin, mountPath: /admin}]
      containers:
        - name: envoy
          image: anymesh.dev/envoy
          command: [envoy, -c, /config/envoy.json, --service-cluster, projectcontour, --service-node, envoy]
          readinessProbe: {httpGet: {path: /ready, port: 8002}, periodSeconds: 1}
          volumeMounts: [{name: config, mountPath: /config}, {name: admin, mountPath: /admin}]
      volumes: [{name: config, emptyDir: {}}, {name: admin, emptyDir: {}}]
`

// shopManifests are two services that echo requests, and an owner of Secrets, in the namespace shop.
const shopManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: shop, name: owner}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: api}
spec: {selector: {app: api}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=web]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=api]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`
