package e2e

import (
	"fmt"
	"testing"
	"time"
)

// routeManifests are an application outside any mesh with a Route that has nothing but a host, one with all that the
// gateway honors, and an application of OAM.
const routeManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: apps}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: apps, name: web}
spec:
  replicas: 2
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
metadata: {namespace: apps, name: web}
spec:
  host: web.example
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {namespace: apps, name: secure}
spec:
  host: secure.example
  tls: {}
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
    - {name: api, path: /api, rewriteTarget: /inner, customHeaders: {X-Tenant: blue}}
---
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {namespace: apps, name: shop}
spec:
  workload:
    apiVersion: core.oam.dev/v1alpha2
    kind: ContainerizedWorkload
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --version=shop, --listen=:8080]
          ports: [{name: http, containerPort: 8080}]
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {namespace: apps, name: shop}
spec:
  components:
    - componentName: shop
      traits:
        - trait: {apiVersion: standard.oam.dev/v1alpha1, kind: Route, spec: {host: shop-app.example}}
`

// TestRoute checks Routes through the gateway: with nothing but a host, with TLS by the built-in authority, and of an
// application. The gateway follows a change of the container port.
func TestRoute(t *testing.T) {
	enableGateway(t)
	apply(t, routeManifests)
	waitReady(t, "apps", "deployment/web")
	for _, route := range []string{"web", "secure"} {
		eventually(t, 60*time.Second, "Route "+route, func() error {
			state := run(t, "-n", "apps", "get", "route.standard.oam.dev", route, "-o", "jsonpath={.status.status} {.status.conditions}")
			if len(state) < 6 || state[:6] != "Ready " {
				return fmt.Errorf("status %s", state)
			}
			return nil
		})
	}
	roots := run(t, "-n", "anymesh-system", "get", "secret", "anymesh-route-ca", "-o", `go-template={{index .data "ca.crt" | base64decode}}`)
	g := forwardGateway(t, []byte(roots))
	serves := func(url, version, path string) {
		t.Helper()
		eventually(t, 60*time.Second, url, func() error {
			r, err := g.get(t, url)
			return wantResponse(r, err, r.Status == 200 && r.Version == version && r.Path == path, version+" with path "+path)
		})
	}
	serves("http://web.example/x?y=1", "web", "/x?y=1")
	serves("https://secure.example/api/x", "web", "/inner/x")
	serves("http://shop-app.example/", "shop", "/")
	r, err := g.get(t, "https://secure.example/api")
	if err := wantResponse(r, err, r.Header.Get("X-Tenant") == "blue", "the header X-Tenant"); err != nil {
		t.Error(err)
	}
	r, err = g.get(t, "http://secure.example/api")
	if err := wantResponse(r, err, r.Status == 308 && r.Location == "https://secure.example/api", "a redirect"); err != nil {
		t.Error(err)
	}

	run(t, "-n", "apps", "patch", "deployment", "web", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/ports/0/containerPort","value":9090},
		  {"op":"replace","path":"/spec/template/spec/containers/0/readinessProbe/httpGet/port","value":9090},
		  {"op":"replace","path":"/spec/template/spec/containers/0/args/2","value":"--listen=:9090"}]`)
	waitReady(t, "apps", "deployment/web")
	serves("http://web.example/changed", "web", "/changed")
	run(t, "-n", "apps", "delete", "route.standard.oam.dev", "web")
	eventually(t, 20*time.Second, "nothing of the Route is left", func() error {
		r, err := g.get(t, "http://web.example/")
		return wantResponse(r, err, r.Status == 404, "status 404")
	})
}
