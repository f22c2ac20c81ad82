package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// osmGateway is a client without a sidecar.
const osmGateway = `
{apiVersion: v1, kind: Service, metadata: {name: gateway, namespace: bookshop}, spec: {selector: {app: gateway}, ports: [{port: 8080}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gateway, namespace: bookshop}
spec:
  selector: {matchLabels: {app: gateway}}
  template:
    metadata: {labels: {app: gateway}, annotations: {openservicemesh.io/sidecar-injection: disabled}}
    spec:
      containers: [{name: app, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}]
`

const osmIngress = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: {name: bookstore, namespace: bookshop}
spec:
  backends: [{name: bookstore, port: {number: 9080, protocol: http}}]
  sources: [{kind: Service, namespace: bookshop, name: gateway}]
`

const osmRateLimit = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: {name: bookstore, namespace: bookshop}
spec:
  host: bookstore.bookshop.svc.cluster.local
  rateLimit: {local: {http: {requests: 1, unit: hour}}}
`

// testOSMPolicies checks that clients outside of the mesh reach the bookstore with an IngressBackend only, that a
// member leaves the mesh with an Egress only, and that a rate limit refuses requests as long as it exists.
func testOSMPolicies(t *testing.T, bookstore string) {
	calls := func(t *testing.T, namespace, client, target string, ok func(outcome, error) bool) {
		t.Helper()
		eventually(t, 20*time.Second, client+" calls "+target, func() error {
			o, err := callFromIn(t.Context(), namespace, client, target)
			if !ok(o, err) {
				return errors.Join(fmt.Errorf("status %d, error %q", o.Status, o.Error), err)
			}
			return nil
		})
	}
	succeeds := func(o outcome, err error) bool { return err == nil && o.Status == 200 }
	refused := func(o outcome, err error) bool { return err == nil && o.Status != 200 }
	remove := func(t *testing.T, kind, name string) { t.Helper(); run(t, "-n", "bookshop", "delete", kind, name) }
	apply(t, osmGateway)
	waitReady(t, "bookshop", "deployment/gateway")
	t.Run("ingress", func(t *testing.T) {
		calls(t, "bookshop", "gateway", bookstore, refused)
		apply(t, osmIngress)
		calls(t, "bookshop", "gateway", bookstore, succeeds)
		eventually(t, 20*time.Second, "the status is written", func() error {
			got := run(t, "-n", "bookshop", "get", "ingressbackend", "bookstore", "-o", "jsonpath={.status.currentStatus}")
			if got != "committed" {
				return fmt.Errorf("status %q", got)
			}
			return nil
		})
		remove(t, "ingressbackend", "bookstore")
		calls(t, "bookshop", "gateway", bookstore, refused)
	})
	t.Run("egress", func(t *testing.T) {
		ip := run(t, "-n", "bookshop", "get", "pods", "-l", "app=gateway", "-o", "jsonpath={.items[0].status.podIP}")
		outside := hostPort(ip, 8080) + "healthz"
		calls(t, "bookshop", "bookbuyer", outside, refused)
		apply(t, fmt.Sprintf(`
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: {name: red, namespace: bookshop}
spec:
  sources: [{kind: ServiceAccount, name: bookbuyer, namespace: bookshop}]
  ipAddresses: [%s/32]
  ports: [{number: 8080, protocol: tcp}]
`, ip))
		calls(t, "bookshop", "bookbuyer", outside, succeeds)
		calls(t, "bookshop", "bookthief", outside, refused)
		remove(t, "egress", "red")
		calls(t, "bookshop", "bookbuyer", outside, refused)
	})
	t.Run("rate limit", func(t *testing.T) {
		apply(t, osmRateLimit)
		calls(t, "bookshop", "bookbuyer", booksURL, func(o outcome, err error) bool { return err == nil && o.Status == 429 })
		remove(t, "upstreamtrafficsetting", "bookstore")
		calls(t, "bookshop", "bookbuyer", booksURL, succeeds)
	})
}
