package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// oldProxyManifests are a proxy that was not injected and has the REST API of l7mp, and a server. The API is on the
// loopback address; as that of l7mp is not, a container of the pod forwards to it.
const oldProxyManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: olds}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: proxy, namespace: olds}
data:
  config.yaml: |
    listeners: [{name: controller-listener, spec: {protocol: HTTP, port: 1235, address: 127.0.0.1}, rules: [{action: {route: {destination: {name: l7mp-controller, spec: {protocol: L7mpController}}}}}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: olds}
spec:
  selector: {matchLabels: {app: gateway}}
  template:
    metadata: {labels: {app: gateway}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{name: config, configMap: {name: proxy}}]
      containers:
        - {name: l7mp, image: anymesh.dev/anymesh, command: [anymesh, proxy, run, -c, /config/config.yaml], volumeMounts: [{name: config, mountPath: /config}]}
        - {name: api, image: example/api:1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: olds}
spec:
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec: {containers: [{name: app, image: example/server:1}]}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: in, namespace: olds}
spec:
  selector: {matchLabels: {app: gateway}}
  listener: {spec: {TCP: {port: 7000}}, rules: [{action: {route: {destination: server}}}]}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: server, namespace: olds}
spec: {cluster: {spec: {TCP: {port: 9000}}, endpoints: [{selector: {matchLabels: {app: server}}}]}}
`

// TestL7mpRESTProxies checks that proxies that were not injected are configured over their REST API, also after a
// restart, and that commands list them.
func TestL7mpRESTProxies(t *testing.T) {
	apply(t, withServers(t, oldProxyManifests, l7mpServers{
		"api": {"forward", "1234", "1235"}, "server": {"tcp", "0.0.0.0", "9000", "tcp", "0.0.0.0", "9001"},
	}))
	for _, name := range []string{"gateway", "server"} {
		waitReady(t, "olds", "deployment/"+name)
	}
	t.Cleanup(func() {
		if err := installAnymesh(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := installAnymesh(t.Context(), "--set", "l7mp.restAPI=true"); err != nil {
		t.Fatal(err)
	}
	gateway := func() string { return l7mpPods(t, "olds", "gateway")[0] }
	served := func(port int) {
		t.Helper()
		eventually(t, 30*time.Second, fmt.Sprintf("an answer of port %d", port), func() error {
			out, err := send(t, "tcp", gateway(), 7000, []byte("hello\n"))
			if err != nil || !strings.Contains(out, fmt.Sprintf(":%d:", port)) {
				return fmt.Errorf("got %q: %w", out, err)
			}
			return nil
		})
	}
	served(9000)
	run(t, "-n", "olds", "patch", "target", "server", "--type=merge", "-p", `{"spec":{"cluster":{"spec":{"TCP":{"port":9001}}}}}`)
	served(9001)
	run(t, "-n", "olds", "delete", "pod", "-l", "app=gateway")
	waitReady(t, "olds", "deployment/gateway")
	served(9001)
	eventually(t, 20*time.Second, "the proxy is listed", func() error {
		out, err := anymesh(t.Context(), "proxy", "status", "--kubeconfig", lab.kubeconfig)
		if err == nil && !hasLine(out, "l7mp/olds/gateway", "olds/gateway-", " native ", "1 synced") {
			err = errors.New(out)
		}
		return err
	})
	out, err := anymesh(t.Context(), "check", "--kubeconfig", lab.kubeconfig)
	t.Log(out, err)
	if hasLine(out, "olds/gateway-") || hasLine(out, "of no workload") {
		t.Errorf("check:\n%s", out)
	}
}
