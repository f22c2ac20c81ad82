package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// ledgerManifests define a service whose sidecars write an access log as JSON, and a group of all VirtualServices of
// the namespace. There is no VirtualService for it yet.
const ledgerManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: BackendGroup
metadata: {namespace: colors, name: all}
spec: {virtualservices: [{name: "*"}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: ledger}
spec:
  podSelector: {matchLabels: {app: ledger}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: ledger.colors.svc.cluster.local}}
  logging: {accessLog: {file: {path: /dev/stdout, format: {json: ` + logFields + `}}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: ledger}
spec: {selector: {app: ledger}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: ledger}
spec:
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=ledger]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

const logFields = `[{key: method, value: "%REQ(:METHOD)%"}, {key: path, value: "%REQ(:PATH)%"}, ` +
	`{key: code, value: "%RESPONSE_CODE%"}, {key: authority, value: "%REQ(:AUTHORITY)%"}, ` +
	`{key: upstream, value: "%UPSTREAM_HOST%"}]`

const ledgerService = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: ledger}
spec: {awsName: ledger.colors.svc.cluster.local, provider: {virtualNode: {virtualNodeRef: {name: ledger}}}}
`

// TestGroupFollowsNamespaceAndLogs checks that a VirtualService is reachable through a group as soon as it is created,
// and not after it is deleted, and that the sidecars of both sides write its requests into their access logs: the
// client without a restart and in the default format, the server as JSON.
func TestGroupFollowsNamespaceAndLogs(t *testing.T) {
	apply(t, ledgerManifests)
	patch := func(change string) {
		_, err := kubectl(contextOf(t), "-n", "colors", "patch", "virtualnode.appmesh.k8s.aws", "front", "--type=merge",
			"-p", change)
		if err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { patch(`{"spec":{"backendGroups":null,"logging":null}}`) })
	patch(`{"spec":{"backendGroups":[{"name":"all"}],"logging":{"accessLog":{"file":{"path":"/dev/stdout"}}}}}`)
	waitReady(t, "colors", "deployment/ledger")
	const url = "http://ledger.colors.svc.cluster.local:8080/entry?n=1"
	reaches := func(wish string, ok func(outcome) bool) {
		t.Helper()
		eventually(t, 20*time.Second, wish, func() error {
			o, err := callFrom(t.Context(), "front", url)
			return want(o, err, ok(o), wish)
		})
	}
	reaches("404 without the VirtualService", func(o outcome) bool { return o.Status == 404 })
	run(t, "-n", "colors", "get", "backendgroups.appmesh.k8s.aws", "all")
	apply(t, ledgerService)
	reaches("the member of the group", func(o outcome) bool { return o.Version == "ledger" })
	ip := run(t, "-n", "colors", "get", "service", "ledger", "-o", "jsonpath={.spec.clusterIP}")
	run(t, "-n", "colors", "delete", "virtualservice.appmesh.k8s.aws", "ledger")
	reaches("404 after the deletion", func(o outcome) bool { return o.Status == 404 })

	eventually(t, 30*time.Second, "the log of the client", func() error {
		text := run(t, "-n", "colors", "logs", "deployment/front", "-c", "envoy")
		if !strings.Contains(text, `"GET /entry?n=1 HTTP/1.1" 200 `) || !strings.Contains(text, ip+":8080") {
			return fmt.Errorf("no entry with status 200 and %s in %.2000q", ip, text)
		}
		return nil
	})
	eventually(t, 30*time.Second, "the log of the server", func() error {
		text := run(t, "-n", "colors", "logs", "deployment/ledger", "-c", "envoy")
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "{") {
				continue // of the agent
			}
			var e struct {
				Method, Path, Authority, Upstream string
				Code                              int
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("entry %q: %w", line, err)
			}
			if e.Method == "GET" && e.Path == "/entry?n=1" && e.Code == 200 && e.Upstream == "127.0.0.1:8080" &&
				e.Authority == "ledger.colors.svc.cluster.local:8080" {
				return nil
			}
		}
		return fmt.Errorf("no entry of the request in %.2000q", text)
	})
}
