package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

const osmIngress = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: {name: bookstore, namespace: bookshop}
spec:
  backends: [{name: bookstore, port: {number: 9080, protocol: http}}]
  sources: [{kind: Service, namespace: colors, name: front}]
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
	t.Run("ingress", func(t *testing.T) {
		apply(t, osmIngress)
		calls(t, "colors", "front", bookstore, succeeds)
		eventually(t, 20*time.Second, "the status is written", func() error {
			got := run(t, "-n", "bookshop", "get", "ingressbackend", "bookstore", "-o", "jsonpath={.status.currentStatus}")
			if got != "committed" {
				return fmt.Errorf("status %q", got)
			}
			return nil
		})
		remove(t, "ingressbackend", "bookstore")
		calls(t, "colors", "front", bookstore, refused)
	})
	t.Run("egress", func(t *testing.T) {
		ip := run(t, "-n", "colors", "get", "pods", "-l", "app=color,version=red", "-o", "jsonpath={.items[0].status.podIP}")
		outside := hostPort(ip, 8080)
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
