package e2e

// l7mpTemplates are the templates of the document "The l7mp service mesh", in its order of fields, with names, ports and
// selectors in place of its dots.
const l7mpTemplates = `
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: edge
  namespace: default
spec:
  selector:
    matchLabels:
      app: edge
  listener:
    name: edge-listener
    spec:
      UDP:
        port: 9201
    rules:
      - match: {op: less, path: /UDP/src_port, value: 21100}
        action:
          route: to-workers
      - match: {op: less, path: /UDP/src_port, value: 21200}
        action:
          route: {destination: flat}
      - match: {op: less, path: /UDP/src_port, value: 21300}
        action:
          route: {destination: linked, ingress: [inbound-vsvc], egress: [{spec: {UDP: {port: 9204}}, endpoints: [{selector: {matchLabels: {app: outbound}}}]}]}
      - action:
          route: {destination: naked-svc}
---
apiVersion: l7mp.io/v1
kind: Route
metadata:
  name: to-workers
  namespace: default
spec:
  destination: workers
  retry:
    retry_on: always
    num_retries: 3
    timeout: 2000
---
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: workers
  namespace: default
spec:
  selector:
    matchLabels:
      app: edge
  cluster:
    spec:
      UDP:
        port: 9202
    loadbalancer:
      policy: EqualRoundRobin
    endpoints:
      - selector:
          matchLabels:
            app: worker
---
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: flat
  namespace: default
spec:
  selector:
    matchLabels:
      app: edge
  cluster:
    spec:
      protocol: UDP
      port: 9202
    loadbalancer:
      policy: EqualRoundRobin
    endpoints:
      - selector:
          matchLabels:
            app: worker
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: linked, namespace: default}
spec: {linkedVirtualService: worker-vsvc}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: worker-vsvc, namespace: default}
spec: {selector: {matchLabels: {app: worker}}, listener: {spec: {UDP: {port: 9202}}}}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: inbound-vsvc, namespace: default}
spec: {selector: {matchLabels: {app: inbound}}, listener: {spec: {UDP: {port: 9203}}}}
---
apiVersion: v1
kind: Service
metadata: {name: naked-svc, namespace: default}
spec: {selector: {app: naked}, ports: [{port: 9999, targetPort: 9205, protocol: UDP}]}
`

// l7mpTemplateApps are the pods that the objects select: only that of edge has a proxy.
const l7mpTemplateApps = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: %[3]s, image: example/%[3]s:1}]
`
