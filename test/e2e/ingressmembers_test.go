package e2e

import (
	"testing"
	"time"
)

// memberManifests are a member of a mesh whose listener requires TLS and the certificate of the gateway, and an Ingress
// to it. With the second certificate, the listener accepts other clients only.
const memberManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: guarded, labels: {mesh: guarded, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: guarded}, spec: {namespaceSelector: {matchLabels: {mesh: guarded}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: guarded, name: vault}
spec:
  podSelector: {matchLabels: {app: vault}}
  serviceDiscovery: {dns: {hostname: vault.guarded.svc.cluster.local}}
  listeners:
    - portMapping: {port: 8080, protocol: http}
      tls:
        mode: STRICT
        certificate: {sds: {secretName: "spiffe://cluster.local/ns/guarded/sa/default"}}
        validation:
          trust: {sds: {secretName: "spiffe://cluster.local"}}
          subjectAlternativeNames: {match: {exact: ["spiffe://cluster.local/ns/anymesh-gateway/sa/anymesh-gateway"]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: guarded, name: vault}
spec:
  selector: {matchLabels: {app: vault}}
  template:
    metadata: {labels: {app: vault}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --version=vault, --listen=:8080]
          ports: [{containerPort: 8080}]
---
{apiVersion: v1, kind: Service, metadata: {namespace: guarded, name: vault}, spec: {selector: {app: vault}, ports: [{port: 80, targetPort: 8080}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: guarded, name: vault}
spec:
  ingressClassName: anymesh
  rules:
    - host: vault.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: vault, port: {number: 80}}}}]}
`

// TestIngressToStrictMembers checks that the gateway reaches a member of a mesh that requires TLS with its own
// certificate, and that requests are not sent unprotected if the member does not accept it.
func TestIngressToStrictMembers(t *testing.T) {
	enableGateway(t)
	apply(t, memberManifests)
	waitReady(t, "guarded", "deployment/vault")
	g := forwardGateway(t, nil)
	eventually(t, 30*time.Second, "a response over TLS", func() error {
		r, err := g.get(t, "http://vault.example/x")
		return wantResponse(r, err, r.Status == 200 && r.Version == "vault", "status 200")
	})
	run(t, "-n", "guarded", "patch", "virtualnode", "vault", "--type=json", "-p", `[{"op":"replace",
		"path":"/spec/listeners/0/tls/validation/subjectAlternativeNames/match/exact","value":["spiffe://cluster.local/ns/guarded/sa/front"]}]`)
	eventually(t, 30*time.Second, "no unprotected request", func() error {
		r, err := g.get(t, "http://vault.example/x")
		return wantResponse(r, err, r.Status == 404, "status 404")
	})
	wantOutput(t, []string{"BackendTLS", "VirtualNode guarded/vault spec.listeners[0] requires TLS"}, "describe",
		"service", "vault.example")
}
