package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// lookupManifests are two pods that look up names. Container app has the resolver of Go, container glibc that of the
// C library: it looks up the names of its arguments all the time, and serves the numbers of outcomes.
const lookupManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: lookups, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: lookups}
spec:
  podSelector: {matchLabels: {app: client}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: client}}
  backends:
    - virtualService: {virtualServiceRef: {name: hidden}}
    - virtualService: {virtualServiceRef: {name: late}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: hidden, namespace: lookups}
spec:
  podSelector: {matchLabels: {app: hidden}}
  listeners: [{portMapping: {port: 9000, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: lookups.local, serviceName: hidden}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: hidden, namespace: lookups}
spec: {awsName: hidden.apps.pvt.aws.local, provider: {virtualNode: {virtualNodeRef: {name: hidden}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: client, namespace: lookups}, spec: {selector: {app: client}, ports: [{port: 8080}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lookups, namespace: lookups}
data:
  lookups.py: |
    import collections, http.server, json, socket, sys, threading, time

    lock, counts = threading.Lock(), collections.Counter()

    def look_up(name):
        while True:
            try:
                outcome = " ".join([name] + sorted({a[4][0] for a in socket.getaddrinfo(name, None)}))
            except OSError as e:
                outcome = f"error: {name}: {e}"
            with lock:
                counts[outcome] += 1
            time.sleep(0.2)

    class Counts(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with lock:
                body = json.dumps(counts).encode()
                if self.command == "DELETE":
                    counts.clear()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_DELETE = do_GET

        def log_message(self, *args):
            pass

    for name in sys.argv[1:] * 4:
        threading.Thread(target=look_up, args=[name], daemon=True).start()
    http.server.ThreadingHTTPServer(("", 8086), Counts).serve_forever()
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: client, namespace: lookups}
spec:
  replicas: 2
  selector: {matchLabels: {app: client}}
  template:
    metadata: {labels: {app: client}}
    spec:
      terminationGracePeriodSeconds: 6
      volumes: [{name: lookups, configMap: {name: lookups}}]
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [drive, "--listen=:8085", --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 8085}, periodSeconds: 1}
        - name: glibc
          image: anymesh.dev/python
          command: [python3, /lookups/lookups.py, hidden.apps.pvt.aws.local, kubernetes.default.svc.cluster.local]
          volumeMounts: [{name: lookups, mountPath: /lookups}]
          readinessProbe: {httpGet: {path: /, port: 8086}, periodSeconds: 1}
`

// lookUp makes a pod look up a name once, and returns the name with its addresses.
func lookUp(t *testing.T, pod, name string) (string, error) {
	t.Helper()
	var o outcome
	raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("lookups").Resource("pods").Name(pod+":8085").
		SubResource("proxy").Suffix("call").Param("url", "dns://"+name).DoRaw(t.Context())
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err == nil && o.Version == "" {
		err = errors.New(o.Error)
	}
	return o.Version, err
}

// lookups are the steady lookups of a pod, with the resolver of Go and with that of the C library.
type lookups struct{ pod string }

// lookupCounts are the numbers of outcomes by resolver.
type lookupCounts map[string]map[string]int

func startLookups(t *testing.T, pod string) lookups {
	t.Helper()
	l := lookups{pod}
	for _, request := range []*rest.Request{
		l.request("PUT", "8085", "steady").Param("rate", "20").
			Param("url", "dns://"+lookedUp[0]).Param("url", "dns://"+lookedUp[1]),
		l.request("DELETE", "8086", "counts"),
	} {
		if err := request.Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// counts returns the outcomes so far. Verb DELETE stops the lookups, and waits for active ones.
func (l lookups) counts(ctx context.Context, verb string) (lookupCounts, error) {
	out := lookupCounts{}
	for resolver, request := range map[string]*rest.Request{
		"Go": l.request(verb, "8085", "steady"), "C library": l.request(verb, "8086", "counts"),
	} {
		counts := map[string]int{}
		raw, err := request.DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(raw, &counts)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", resolver, l.pod, err)
		}
		out[resolver] = counts
	}
	return out, nil
}

func (l lookups) request(verb, port, path string) *rest.Request {
	return lab.kube.CoreV1().RESTClient().Verb(verb).Namespace("lookups").Resource("pods").Name(l.pod + ":" + port).
		SubResource("proxy").Suffix(path)
}

// finish waits until each resolver has seen each expected outcome often, stops the lookups, and returns the outcomes
// that are not expected.
func (l lookups) finish(t *testing.T, expected map[string]bool) (unexpected []string) {
	t.Helper()
	eventually(t, 30*time.Second, "lookups of "+l.pod, func() error {
		counts, err := l.counts(t.Context(), "GET")
		for resolver, outcomes := range counts {
			for outcome := range expected {
				if outcomes[outcome] < 20 {
					return fmt.Errorf("%s: %d lookups: %s", resolver, outcomes[outcome], outcome)
				}
			}
		}
		return err
	})
	counts, err := l.counts(t.Context(), "DELETE")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v", l.pod, counts)
	for resolver, outcomes := range counts {
		for outcome, n := range outcomes {
			if !expected[outcome] {
				unexpected = append(unexpected, fmt.Sprintf("%s, %s: %d lookups: %s", l.pod, resolver, n, outcome))
			}
		}
	}
	return unexpected
}
