package e2e

// l7mpTasks are the objects of the tasks "Routing and Protocol Conversion" and "DNS proxying", as published.
const l7mpTasks = `
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: uds-cluster
spec:
  selector:
    matchExpressions:
      - key: app
        operator: In
        values:
        - transcoder
  cluster:
    spec:
      UnixDomainSocket:
        filename: "/tmp/uds-echo.sock"
    endpoints:
      - spec:
          filename: "/tmp/uds-echo.sock"
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: transcoder-vsvc
  namespace: default
spec:
  selector:
    matchExpressions:
      - key: app
        operator: In
        values:
        - transcoder
  listener:
    name: websocket
    spec:
      WebSocket:
        port: 8888
    rules:
      - action:
          route:
            destinationRef: /apis/l7mp.io/v1/namespaces/default/targets/uds-cluster
---
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: websocket-cluster
spec:
  selector:
    matchExpressions:
      - key: app
        operator: In
        values:
        - l7mp-ingress
  cluster:
    spec:
      WebSocket:
        port: 8888
    loadbalancer:
      policy: ConsistentHash
    endpoints:
      - selector:
          matchLabels:
            app: transcoder
---
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: udp-cluster
spec:
  selector:
    matchExpressions:
      - key: app
        operator: In
        values:
        - l7mp-ingress
  cluster:
    spec:
      UDP:
        port: 9999
    loadbalancer:
      policy: ConsistentHash
    endpoints:
      - selector:
          matchLabels:
            app: worker
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: gateway-vsvc
  namespace: default
spec:
  selector:
    matchLabels:
      app: l7mp-ingress
  listener:
    spec:
      UDP:
        port: 9001
    rules:
      - action:
          route:
            destinationRef: /apis/l7mp.io/v1/namespaces/default/targets/udp-cluster
            ingress:
              - clusterRef: /apis/l7mp.io/v1/namespaces/default/targets/websocket-cluster
---
apiVersion: l7mp.io/v1
kind: Target
metadata:
  name: dns-cluster
spec:
  selector:
    matchExpressions:
      - key: app
        operator: In
        values:
          - l7mp-ingress
  cluster:
    name: udp-cluster
    spec:
      UDP:
        port: 5000
    endpoints:
      - selector:
          matchLabels:
            app: dns
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: dns-listener
spec:
  selector:
    matchLabels:
      app: dns
  listener:
    spec:
      UDP:
        port: 5000
    rules:
      - action:
          route:
            destination:
              spec:
                UDP:
                  port: 100
              endpoints:
                - spec: { address: 127.0.0.1 }
            retry:
              retry_on: always
              num_retries: 3
              timeout: 2000
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: gateway
spec:
  selector:
    matchLabels:
      app: l7mp-ingress
  listener:
    spec:
      UDP:
        port: 5000
    rules:
      - action:
          route:
            destinationRef: /apis/l7mp.io/v1/namespaces/default/targets/dns-cluster
            retry:
              retry_on: always
              num_retries: 3
              timeout: 2000
`

// l7mpMedia are the workers of the RTP media plane: the legs of a call travel as JSONSocket over UDP to the worker that
// the hash of its number picks, pass a transcoder there, and meet.
const l7mpMedia = `---
apiVersion: l7mp.io/v1
kind: Route
metadata: {name: to-worker, namespace: default}
spec:
  destination: media
  retry: {retry_on: always, num_retries: 3, timeout: 2000}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: media, namespace: default}
spec:
  selector: {matchLabels: {app: l7mp-ingress}}
  cluster:
    spec: {JSONSocket: {transport: {UDP: {port: 19000}}, header: [{path: {from: /labels, to: /labels}}]}}
    loadbalancer: {policy: ConsistentHash, key: /labels/session_id}
    endpoints: [{selector: {matchLabels: {app: media}}}]
---
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: meeting, namespace: default}, spec: {selector: {matchLabels: {app: media}}, cluster: {spec: {Sync: {query: /JSONSocket/labels/session_id}}}}}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: transcoder, namespace: default}
spec:
  selector: {matchLabels: {app: media}}
  cluster: {spec: {JSONSocket: {transport: {UDP: {port: 19001}}}}, endpoints: [{spec: {address: 127.0.0.1}}]}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: transcoder, namespace: default}
spec:
  selector: {matchLabels: {app: media}}
  listener:
    spec: {JSONSocket: {transport: {UDP: {port: 19001}}}}
    rules: [{action: {route: {destination: {Echo: {}}}}}]
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: media, namespace: default}
spec:
  selector: {matchLabels: {app: media}}
  listener:
    spec: {JSONSocket: {transport: {UDP: {port: 19000}}}}
    rules: [{action: {route: {destination: meeting, ingress: [transcoder]}}}]
`

// l7mpLeg is the VirtualService of a leg of a call.
const l7mpLeg = `---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: leg-%[1]d, namespace: default}
spec:
  selector: {matchLabels: {app: l7mp-ingress}}
  listener:
    spec: {UDP: {port: %[1]d}}
    rules: [{action: {rewrite: [{path: /labels/session_id, value: "call-%[2]d"}], route: to-worker}}]
    options: {track: 600, removeOrphanSessions: true}
`

// l7mpDNS exposes the DNS of the cluster at the gateway, as published in "Getting started", with retries in addition.
const l7mpDNS = `
apiVersion: l7mp.io/v1
kind: VirtualService
metadata:
  name: kube-dns-vsvc
spec:
  selector:
    matchLabels:
      app: l7mp-ingress
  listener:
    spec:
      UDP:
        port: 5053
    rules:
      - action:
          route:
            destination:
              spec:
                UDP:
                  port: 53
              endpoints:
                - spec: { address:  "kube-dns.kube-system.svc.cluster.local" }
            retry: {retry_on: always, num_retries: 3, timeout: 2000}
`
