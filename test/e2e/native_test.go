package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// nativeManifests are a caller with our own proxy as its sidecar, and a service whose pods get another sidecar with
// each restart. The caller reaches the colors example, whose sidecars are Envoys.
const nativeManifests = `
apiVersion: v1
kind: Namespace
metadata:
  name: natives
  labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}
  annotations: {anymesh.dev/sidecarClass: native}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: caller, namespace: natives}
spec:
  podSelector: {matchLabels: {app: caller}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: caller.natives.svc.cluster.local}}
  backends:
    - {virtualService: {virtualServiceRef: {name: pick}}}
    - {virtualService: {virtualServiceRef: {name: color, namespace: colors}}}
    - {virtualService: {virtualServiceRef: {name: store, namespace: colors}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: pick, namespace: natives}
spec:
  podSelector: {matchLabels: {app: pick}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: pick.natives.svc.cluster.local}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: pick, namespace: natives}
spec: {awsName: pick.natives.svc.cluster.local, provider: {virtualNode: {virtualNodeRef: {name: pick}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: caller, namespace: natives}, spec: {selector: {app: caller}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: pick, namespace: natives}, spec: {selector: {app: pick}, ports: [{port: 8080}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: caller, namespace: natives}
spec:
  selector: {matchLabels: {app: caller}}
  template:
    metadata: {labels: {app: caller}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [drive, --listen=:8080, --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pick, namespace: natives}
spec:
  selector: {matchLabels: {app: pick}}
  template:
    metadata: {labels: {app: pick}, annotations: {anymesh.dev/sidecarClass: envoy}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=pick]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {name: door, namespace: natives}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: natives}}
  podSelector: {matchLabels: {app: door}}
  listeners: [{portMapping: {port: 8088, protocol: http}}]
  logging: {accessLog: {file: {path: /dev/stdout, format: {text: "%REQ(:METHOD)% %REQ(:AUTHORITY)% %REQ(:PATH)% %RESPONSE_CODE%\n"}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: GatewayRoute
metadata: {name: pick, namespace: natives}
spec:
  httpRoute:
    match: {prefix: /door}
    action: {target: {virtualService: {virtualServiceRef: {name: pick}}}, rewrite: {prefix: {defaultPrefix: ENABLED}}}
---
{apiVersion: v1, kind: Service, metadata: {name: door, namespace: natives}, spec: {selector: {app: door}, ports: [{port: 8088}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: door, namespace: natives}
spec:
  selector: {matchLabels: {app: door}}
  template:
    metadata: {labels: {app: door}}
    spec: {containers: [{name: envoy, image: none, ports: [{containerPort: 8088}], readinessProbe: {httpGet: {path: /ready, port: 9901}, periodSeconds: 1}}]}
`

// TestNativeSidecar checks that our own proxy is a sidecar of App Mesh workloads, and that the sidecar of a service
// changes from Envoy to it and back without a failed request.
func TestNativeSidecar(t *testing.T) {
	apply(t, nativeManifests)
	for _, name := range []string{"caller", "pick", "door"} {
		waitReady(t, "natives", "deployment/"+name)
	}
	for target, ok := range map[string]func(outcome) bool{
		"http://pick.natives.svc.cluster.local:8080/": func(o outcome) bool { return o.Version == "pick" },
		colorURL: func(o outcome) bool { return o.Version == "red" || o.Version == "blue" },
		"tcp://store.colors.svc.cluster.local:9000":   func(o outcome) bool { return o.Version == "store" },
		"http://tally.colors.svc.cluster.local:8080/": func(o outcome) bool { return o.Status == 404 },
		"http://tally.colors.svc.cluster.local:8081/": func(o outcome) bool { return o.Status == 0 && o.Error != "" },
	} {
		eventually(t, 20*time.Second, "what the mesh declares for "+target, func() error {
			o, err := callFromIn(t.Context(), "natives", "caller", target)
			return want(o, err, ok(o), "what the mesh declares")
		})
	}
	t.Run("gateway", testNativeGateway)
	calls := steadyCalls{
		"natives", "caller", []string{"http://pick.natives.svc.cluster.local:8080/"}, []string{"pick"},
	}
	calls.during(t, func() {
		before := "envoy"
		for _, class := range []string{"native", "envoy"} {
			run(t, "-n", "natives", "patch", "deployment", "pick", "-p",
				`{"spec":{"template":{"metadata":{"annotations":{"anymesh.dev/sidecarClass":"`+class+`"}}}}}`)
			run(t, "-n", "natives", "rollout", "status", "deployment", "pick", "--timeout=120s")
			eventually(t, time.Minute, "all sidecars of pick are "+class, func() error {
				out, err := anymesh(t.Context(), "proxy", "status", "--kubeconfig", lab.kubeconfig)
				if err != nil {
					return err
				}
				if !hasLine(out, "natives/pick-", " "+class+" ") || hasLine(out, "natives/pick-", " "+before+" ") ||
					!hasLine(out, "natives/caller-", " native ") {
					return errors.New(strings.TrimSpace(out))
				}
				return nil
			})
			before = class
		}
	})
}

// testNativeGateway calls a service through a gateway of App Mesh, which rewrites the path and writes an access log.
func testNativeGateway(t *testing.T) {
	ip := run(t, "-n", "natives", "get", "pods", "-l", "app=door", "-o", "jsonpath={.items[0].status.podIP}")
	for path, status := range map[string]string{"door/x": "200", "elsewhere": "404"} {
		eventually(t, 20*time.Second, "a client without a sidecar calls "+path, func() error {
			out, err := onNode(t.Context(), "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", hostPort(ip, 8088)+path)
			if err == nil && out != status {
				err = errors.New(out)
			}
			return err
		})
	}
	eventually(t, 20*time.Second, "the gateway logs the request", func() error {
		log := run(t, "-n", "natives", "logs", "deployment/door", "-c", "envoy")
		if !hasLine(log, "GET pick.natives.svc.cluster.local /x 200") {
			return errors.New(strings.TrimSpace(log))
		}
		return nil
	})
}
