package e2e

// These manifests complete the samples of the API design document: namespaces, referenced objects, pods and Services.
const designNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: my-app-ns, labels: {mesh: my-mesh, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: my-other-ns, labels: {mesh: my-mesh}}
`

const designObjects = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: my-app-ns, name: node-v2}
spec:
  podSelector: {matchLabels: {app: node-v2}}
  listeners: [{portMapping: {port: 9080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: node-v2.my-app-ns.svc.cluster.local}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: my-app-ns, name: svc-a-router}
spec:
  listeners: [{portMapping: {port: 9080, protocol: http}}]
  routes:
    - name: route-to-auth
      httpRoute:
        match: {prefix: /auth}
        action: {weightedTargets: [{virtualNodeRef: {name: node-v1}, weight: 1}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: my-app-ns, name: my-app-svc}
spec: {provider: {virtualRouter: {virtualRouterRef: {name: svc-a}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: my-other-ns, name: far}
spec:
  listeners: [{portMapping: {port: 9080, protocol: http}}]
  routes:
    - name: everything
      httpRoute:
        match: {prefix: /}
        action: {weightedTargets: [{virtualNodeRef: {namespace: my-app-ns, name: node-v1}, weight: 1}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: my-other-ns, name: far}
spec: {provider: {virtualRouter: {virtualRouterRef: {name: far}}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-app-ns, name: svc-a}
spec: {ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-app-ns, name: svc-b}
spec: {ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-app-ns, name: my-app-svc}
spec: {ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-other-ns, name: far}
spec: {ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-app-ns, name: node-v1}
spec: {selector: {app: node-v1}, ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: my-app-ns, name: node-v2}
spec: {selector: {app: node-v2}, ports: [{port: 9080}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: my-app-ns, name: node-v1, labels: {app: node-v1}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080, --version=v1]}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: my-app-ns, name: node-v2, labels: {app: node-v2}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080, --version=v2]}]
`

// designDeployment is the Deployment of the document with an existing image.
const designDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: my-app-ns, name: my-app-node-deployment}
spec:
  selector: {matchLabels: {app: my-app-node}}
  replicas: 5
  template:
    metadata: {labels: {app: my-app-node}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [drive, --listen=:80, --rate=0]
          ports: [{containerPort: 80}]
`
