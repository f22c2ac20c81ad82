package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// routeGatewayManifests are Routes of the provider gateway on a Gateway that the gateway here serves, and an HTTPRoute
// with a field that it does not honor.
const routeGatewayManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: edge}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: sites}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: anymesh}
spec: {controllerName: anymesh.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: edge, name: public}
spec:
  gatewayClassName: anymesh
  allowedListeners: {namespaces: {from: All}}
  listeners:
    - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - {name: other, port: 8081, protocol: HTTP}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: sites, name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --version=web, --listen=:8080]
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ping, port: 8080}, periodSeconds: 1}
---
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {namespace: sites, name: web}
spec:
  host: web.sites.example
  provider: gateway
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {namespace: sites, name: secure}
spec:
  host: secure.sites.example
  provider: gateway
  tls: {}
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
    - {name: api, path: /api, rewriteTarget: /inner, customHeaders: {X-Tenant: blue}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: sites, name: refused}
spec:
  parentRefs: [{namespace: edge, name: public}]
  hostnames: [refused.sites.example]
  rules: [{matches: [{method: GET}], backendRefs: [{name: web, port: 80}]}]
`

// TestRouteByOwnGateway checks that the gateway serves what the provider gateway writes for Routes: with nothing but a
// host, and with TLS by a ListenerSet. The kinds of Gateway API are installed after the control plane.
func TestRouteByOwnGateway(t *testing.T) {
	enableGateway(t)
	apply(t, readManifests(t, filepath.Join(moduleDir(t, "", "sigs.k8s.io/gateway-api"), "config/crd/standard")))
	for _, kind := range []string{"gatewayclasses", "gateways", "listenersets", "httproutes"} {
		waitEstablished(t, kind+".gateway.networking.k8s.io")
	}
	apply(t, routeGatewayManifests)
	t.Cleanup(func() {
		if t.Failed() {
			state, _ := kubectl(contextOf(t), "get", "gatewayclass,gateway,listenerset,httproute", "-A", "-o", "yaml")
			logs, _ := kubectl(contextOf(t), "-n", "anymesh-system", "logs", "deployment/anymesh", "--tail=30")
			t.Logf("%s\n%s", state, logs)
		}
	})
	waitReady(t, "sites", "deployment/web")
	for _, route := range []string{"web", "secure"} {
		eventually(t, 60*time.Second, "Route "+route, func() error {
			state := run(t, "-n", "sites", "get", "route.standard.oam.dev", route, "-o", "jsonpath={.status.status} {.status.conditions}")
			if len(state) < 6 || state[:6] != "Ready " {
				return fmt.Errorf("status %s", state)
			}
			return nil
		})
	}
	roots := run(t, "-n", "anymesh-system", "get", "secret", "anymesh-route-ca", "-o", `go-template={{index .data "ca.crt" | base64decode}}`)
	g := forwardGateway(t, []byte(roots))
	for url, path := range map[string]string{
		"http://web.sites.example/x?y=1": "/x?y=1", "https://secure.sites.example/api/x": "/inner/x",
	} {
		eventually(t, 30*time.Second, url, func() error {
			r, err := g.get(t, url)
			return wantResponse(r, err, r.Status == 200 && r.Version == "web" && r.Path == path, "web with path "+path)
		})
	}
	r, err := g.get(t, "https://secure.sites.example/api")
	if err := wantResponse(r, err, r.Header.Get("X-Tenant") == "blue", "the header X-Tenant"); err != nil {
		t.Error(err)
	}
	r, err = g.get(t, "http://secure.sites.example/api")
	if err := wantResponse(r, err, r.Status == 308 && r.Location == "https://secure.sites.example/api", "a redirect"); err != nil {
		t.Error(err)
	}
	r, err = g.get(t, "http://refused.sites.example/")
	if err := wantResponse(r, err, r.Status == 404, "status 404"); err != nil {
		t.Error(err)
	}
	gatewayWithoutCertificate(t)
	address := run(t, "-n", "anymesh-gateway", "get", "service", "anymesh-gateway", "-o", "jsonpath={.spec.clusterIP}")
	for _, c := range []struct{ object, path, want string }{
		{"httproute/refused", `{.status.parents[0].conditions[?(@.type=="Accepted")].reason}`, "UnsupportedValue"},
		{"httproute/refused", `{.status.parents[0].conditions[?(@.type=="Accepted")].message}`,
			"spec.rules[0].matches[0].method is not supported"},
		{"gateway/public", `{.status.listeners[?(@.name=="other")].conditions[?(@.type=="Accepted")].reason}`, "PortUnavailable"},
		{"gateway/public", `{.status.addresses[0].value} {.status.attachedListenerSets}`, address + " 1"},
		{"gateway/public", `{.status.listeners[?(@.name=="http")].attachedRoutes}`, "2"},
		{"gatewayclass/anymesh", `{.status.conditions[?(@.type=="Accepted")].status}`, "True"},
	} {
		namespace := "sites"
		if c.object == "gateway/public" {
			namespace = "edge"
		}
		eventually(t, 20*time.Second, c.object+" "+c.path, func() error {
			if got := run(t, "-n", namespace, "get", c.object, "-o", "jsonpath="+c.path); got != c.want {
				return fmt.Errorf("%q, want %q", got, c.want)
			}
			return nil
		})
	}
}
