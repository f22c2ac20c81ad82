package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// l7mpManifests are an application with a proxy in its pod, and two versions of a service that it calls through it.
const l7mpManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: phones, labels: {l7mp.io/injection: enabled}}}
---
{apiVersion: v1, kind: Service, metadata: {name: caller, namespace: phones}, spec: {selector: {app: caller}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: paint, namespace: phones}, spec: {selector: {app: paint, version: old}, ports: [{port: 80, targetPort: 9080, appProtocol: http}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: caller, namespace: phones}
spec:
  selector: {matchLabels: {app: caller}}
  template:
    metadata: {labels: {app: caller}}
    spec:
      containers:
        - {name: l7mp, image: example.com/l7mp}
        - {name: app, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: old, namespace: phones}
spec:
  selector: {matchLabels: {version: old}}
  template:
    metadata: {labels: {app: paint, version: old}}
    spec: {containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080, --version=old], readinessProbe: {httpGet: {path: /healthz, port: 9080}, periodSeconds: 1}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: phones}
spec:
  selector: {matchLabels: {version: new}}
  template:
    metadata: {labels: {app: paint, version: new}}
    spec: {containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9080, --version=new], readinessProbe: {httpGet: {path: /healthz, port: 9080}, periodSeconds: 1}}]}
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: caller, namespace: phones}
spec:
  selector: {matchLabels: {app: caller}}
  listener:
    spec: {HTTP: {port: 8081}}
    rules: [{action: {route: {destination: paint}}}]
---
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: other, namespace: phones}
spec:
  selector: {matchLabels: {app: caller}}
  listener:
    spec: {TCP: {port: 8082}}
    rules: [{action: {route: {destination: paint}}}]
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: paint, namespace: phones}
spec:
  cluster:
    spec: {HTTP: {port: 9080}}
    endpoints: [{selector: {matchLabels: {app: paint, version: new}}}]
`

// TestL7mp checks that the proxy in the pod of an application follows a VirtualService and a Target, that a Service
// takes over when the Target is deleted, and which of two API groups kubectl means by a kind.
func TestL7mp(t *testing.T) {
	apply(t, l7mpManifests)
	for _, name := range []string{"old", "new", "caller"} {
		waitReady(t, "phones", "deployment/"+name)
	}
	expect := func(what string, ok func(outcome) bool) {
		t.Helper()
		eventually(t, 20*time.Second, what, func() error {
			o, err := callFromIn(t.Context(), "phones", "caller", "http://127.0.0.1:8081/")
			return want(o, err, ok(o), what)
		})
	}
	version := func(v string) func(outcome) bool { return func(o outcome) bool { return o.Version == v } }
	expect("a response of the pods of the Target", version("new"))
	for _, kind := range []string{"vsvc/caller", "target/paint"} {
		eventually(t, 20*time.Second, "condition of "+kind, func() error {
			out := run(t, "-n", "phones", "get", kind, "-o", `jsonpath={.status.conditions[?(@.type=="Accepted")].status}`)
			if out != "True" {
				return fmt.Errorf("Accepted is %q", out)
			}
			return nil
		})
	}
	for words, want := range map[string]string{
		"virtualservices": "", "vsvc": "virtualservice.l7mp.io/caller\nvirtualservice.l7mp.io/other\n",
		"l7mp": "target.l7mp.io/paint\nvirtualservice.l7mp.io/caller\nvirtualservice.l7mp.io/other\n",
	} {
		if out := run(t, "-n", "phones", "get", words, "-o", "name"); out != want {
			t.Errorf("kubectl get %s: got %q, want %q", words, out, want)
		}
	}
	if out := run(t, "explain", "route"); !strings.Contains(out, "standard.oam.dev") {
		t.Errorf("kubectl explain route: got\n%s", out)
	}
	wantOutput(t, []string{"destination phones/paint"}, "explain", "--from", "phones/caller", "http://127.0.0.1:8081/")

	run(t, "-n", "phones", "patch", "target", "paint", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/cluster/endpoints/0/selector/matchLabels/version","value":"old"}]`)
	expect("a response of the other pods", version("old"))
	run(t, "-n", "phones", "patch", "target", "paint", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/cluster/endpoints/0/selector/matchLabels/version","value":"none"}]`)
	expect("no endpoint", func(o outcome) bool {
		return o.Status == 503 && strings.Contains(o.Body+o.Error, "no healthy upstream")
	})
	run(t, "-n", "phones", "delete", "target", "paint")
	expect("a response of the pods of the Service", version("old"))
	run(t, "-n", "phones", "delete", "vsvc", "caller", "other")
	expect("no listener", func(o outcome) bool { return o.Status == 0 && o.Error != "" })
}
