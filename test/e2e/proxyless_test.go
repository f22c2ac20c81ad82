package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// proxylessManifests are gRPC applications in Go and in Python whose libraries are their proxies, and one with an
// Envoy. Each calls greeter, whose routes share calls among all of them over mutual TLS.
func proxylessManifests() string {
	var out strings.Builder
	out.WriteString(`
apiVersion: v1
kind: Namespace
metadata:
  name: proxyless
  labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}
  annotations: {anymesh.dev/sidecarClass: grpc}
---
apiVersion: v1
kind: Service
metadata: {name: greeter, namespace: proxyless}
spec: {ports: [{port: 50051}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: greeter, namespace: proxyless}
spec: {awsName: greeter.proxyless.svc.cluster.local, provider: {virtualRouter: {virtualRouterRef: {name: greeter}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {name: greeter, namespace: proxyless}
spec:
  listeners: [{portMapping: {port: 50051, protocol: grpc}}]
  routes:
    - name: exact
      priority: 10
      grpcRoute:
        match: {serviceName: test.Greeter, methodName: Hello, metadata: [{name: to, match: {exact: python}}]}
        action: {weightedTargets: [{virtualNodeRef: {name: python}, weight: 1, port: 50051}]}
    - name: envoy
      priority: 20
      grpcRoute:
        match: {serviceName: test.Greeter, metadata: [{name: to, match: {prefix: env}}]}
        action: {weightedTargets: [{virtualNodeRef: {name: envoy}, weight: 1, port: 50051}]}
    - name: shared
      priority: 30
      grpcRoute:
        match: {serviceName: test.Greeter}
        action: {weightedTargets: [{virtualNodeRef: {name: go}, weight: 3, port: 50051}, {virtualNodeRef: {name: python}, weight: 1, port: 50051}]}
`)
	for _, pod := range []struct{ name, class, application string }{
		{"go", "grpc", `{image: anymesh.dev/proxyless, args: [--version=go]`},
		{"python", "grpc", `{image: anymesh.dev/proxyless-python, args: [python], env: [{name: GRPC_PYTHON, value: ` +
			lab.bin + `/grpc-clients/python}]`},
		{"envoy", "envoy", `{image: anymesh.dev/proxyless, args: [--version=envoy, --plain]`},
	} {
		fmt.Fprintf(&out, `
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: %[1]s, namespace: proxyless}
spec:
  podSelector: {matchLabels: {app: %[1]s}}
  listeners:
    - portMapping: {port: 50051, protocol: grpc}
      tls:
        mode: STRICT
        certificate: {sds: {secretName: "spiffe://cluster.local/ns/proxyless/sa/%[1]s"}}
        validation: {trust: {sds: {secretName: "spiffe://cluster.local"}}}
    - portMapping: {port: 8080, protocol: http}
  serviceDiscovery: {dns: {hostname: %[1]s.proxyless.svc.cluster.local}}
  backendDefaults:
    clientPolicy:
      tls:
        certificate: {sds: {secretName: "spiffe://cluster.local/ns/proxyless/sa/%[1]s"}}
        validation:
          trust: {sds: {secretName: "spiffe://cluster.local"}}
          subjectAlternativeNames: {match: {exact: [
            "spiffe://cluster.local/ns/proxyless/sa/go", "spiffe://cluster.local/ns/proxyless/sa/python",
            "spiffe://cluster.local/ns/proxyless/sa/envoy"]}}
  backends: [{virtualService: {virtualServiceRef: {name: greeter}}}]
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s, namespace: proxyless}}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: proxyless}
spec: {selector: {app: %[1]s}, ports: [{name: http, port: 8080}, {name: grpc, port: 50051}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: proxyless}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {anymesh.dev/sidecarClass: %[3]s}}
    spec:
      serviceAccountName: %[1]s
      terminationGracePeriodSeconds: 1
      containers:
        - %[2]s, name: app, readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
`, pod.name, pod.application, pod.class)
	}
	return out.String()
}

// greet makes calls from a pod, and counts their answers.
func greet(ctx context.Context, from, method string, times int, headers ...string) (map[string]int, error) {
	target := "xds:///greeter.proxyless.svc.cluster.local:50051"
	if from == "envoy" {
		target = "greeter.proxyless.svc.cluster.local:50051"
	}
	request := lab.kube.CoreV1().RESTClient().Get().Namespace("proxyless").Resource("services").Name(from+":8080").
		SubResource("proxy").Suffix("call").Param("target", target).Param("method", method).Param("times", fmt.Sprint(times))
	for _, h := range headers {
		request = request.Param("header", h)
	}
	raw, err := request.DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("calling %s from %s: %w: %s", method, from, err, raw)
	}
	counts := map[string]int{}
	return counts, json.Unmarshal(raw, &counts)
}

// TestProxylessGRPC checks that gRPC libraries in Go and Python, as clients and as servers, do what the routes of App
// Mesh say, with mutual TLS among them and with pods that have an Envoy.
func TestProxylessGRPC(t *testing.T) {
	apply(t, proxylessManifests())
	clients := []string{"go", "python", "envoy"}
	for _, name := range clients {
		waitReady(t, "proxyless", "deployment/"+name)
	}
	for _, from := range clients {
		for _, call := range []struct{ header, to string }{{"to:python", "python"}, {"to:envoy", "envoy"}} {
			eventually(t, 20*time.Second, from+" reaches "+call.to, func() error {
				counts, err := greet(t.Context(), from, "/test.Greeter/Hello", 4, call.header)
				if err == nil && counts[call.to] != 4 {
					err = fmt.Errorf("the calls reached %v", counts)
				}
				return err
			})
		}
		counts, err := greet(t.Context(), from, "/test.Greeter/Bye", 400, "to:python")
		if err != nil || counts["go"]+counts["python"] != 400 || counts["go"] < 240 || counts["go"] > 360 {
			t.Errorf("calls of %s: want three of four to go, the others to python; got %v, %v", from, counts, err)
		}
		counts, err = greet(t.Context(), from, "/test.Other/Hello", 1)
		if err != nil || len(counts) != 1 || counts["go"]+counts["python"]+counts["envoy"] > 0 {
			t.Errorf("%s calls a service without route: %v, %v", from, counts, err)
		}
	}
}
