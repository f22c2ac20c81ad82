package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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

// gatewayHost is the name of the gateway in the cluster, so that pods can use it as a host.
const gatewayHost = "anymesh-gateway.anymesh-gateway.svc.cluster.local"

// editedManifests are a Route that is edited, with a client of its host. One of its backends has no pod.
const editedManifests = `
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {namespace: apps, name: edited}
spec:
  host: ` + gatewayHost + `
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
    - {name: all, path: /}
    - {name: slow, path: /slow, rewriteTarget: /, backend: {readTimeout: 3}}
    - name: sorry
      path: /sorry
      backend: {backendService: {serviceName: empty, port: 80}}
      defaultBackend: {apiVersion: v1, kind: Service, name: shop}
---
{apiVersion: v1, kind: Service, metadata: {namespace: apps, name: empty}, spec: {selector: {app: empty}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: apps, name: client}, spec: {selector: {app: client}, ports: [{port: 8080}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: apps, name: client}
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
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

// TestRouteEdits checks that a hundred edits of a Route under load lose no request, that a pause of the backend is
// limited by readTimeout, and that the default backend replaces one without pods.
func TestRouteEdits(t *testing.T) {
	enableGateway(t)
	apply(t, routeManifests)
	apply(t, editedManifests)
	for _, name := range []string{"web", "client"} {
		waitReady(t, "apps", "deployment/"+name)
	}
	call := func(path string) (outcome, error) {
		return callFromIn(t.Context(), "apps", "client", "http://"+gatewayHost+path)
	}
	eventually(t, 60*time.Second, "the Route is served", func() error {
		o, err := call("/")
		return want(o, err, o.Version == "web", "web")
	})
	eventually(t, 30*time.Second, "the default backend is used", func() error {
		o, err := call("/sorry")
		return want(o, err, o.Version == "shop", "shop")
	})
	for pause, status := range map[string]int{"2400ms": 200, "3600ms": 504} {
		o, err := call("/slow/delay/" + pause)
		if err := want(o, err, o.Status == status, fmt.Sprintf("status %d after a pause of %s", status, pause)); err != nil {
			t.Error(err)
		}
	}
	steadyCalls{"apps", "client", []string{"http://" + gatewayHost + "/"}, []string{"web"}}.during(t, func() {
		editRoute(t, call)
	})
}

// editRoute changes a Route a hundred times: headers, timeouts, and rules that come and go.
func editRoute(t *testing.T, call func(path string) (outcome, error)) {
	t.Helper()
	client, err := dynamic.NewForConfig(lab.config)
	if err != nil {
		t.Fatal(err)
	}
	routes := client.Resource(schema.GroupVersionResource{Group: "standard.oam.dev", Version: "v1alpha1", Resource: "routes"}).
		Namespace("apps")
	for n := range 100 {
		rules := fmt.Sprintf(`{"name":"all","path":"/","customHeaders":{"X-Edit":"%d"}}`, n)
		if n%2 == 0 {
			rules += fmt.Sprintf(`,{"name":"extra","path":"/extra-%d","backend":{"readTimeout":%d}}`, n%3, n+1)
		}
		edited, err := routes.Patch(t.Context(), "edited", types.MergePatchType, []byte(`{"spec":{"rules":[`+rules+`]}}`),
			metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("edit %d: %v", n, err)
		}
		if n%10 != 9 {
			continue
		}
		eventually(t, 20*time.Second, fmt.Sprintf("edit %d is served", n), func() error {
			now, err := routes.Get(t.Context(), "edited", metav1.GetOptions{})
			if err != nil {
				return err
			}
			conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
			o, err := call("/")
			for _, one := range conditions {
				if c := one.(map[string]any); c["type"] == "Ready" && c["status"] == "True" &&
					c["observedGeneration"] == edited.GetGeneration() {
					return want(o, err, o.Version == "web", "web")
				}
			}
			return fmt.Errorf("conditions %v", conditions)
		})
	}
}

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
