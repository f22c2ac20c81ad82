package e2e

import (
	"encoding/json"
	"errors"
	"testing"
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
      dnsConfig: {options: [{name: attempts, value: "3"}]} # the machine of the test can be busy for more than one attempt
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

// startLookups starts the lookups of a pod. The returned function stops them and checks that no other outcomes than the
// expected ones were seen, and each of these often.
func startLookups(t *testing.T, pod string, expected map[string]bool) (check func()) {
	t.Helper()
	do := func(verb, port, path string) map[string]int {
		request := lab.kube.CoreV1().RESTClient().Verb(verb).Namespace("lookups").Resource("pods").Name(pod + ":" + port).
			SubResource("proxy").Suffix(path)
		if verb == "PUT" {
			request.Param("rate", "20")
			for _, name := range lookedUp {
				request.Param("url", "dns://"+name)
			}
		}
		raw, err := request.DoRaw(contextOf(t))
		counts := map[string]int{}
		if err == nil && verb == "DELETE" {
			err = json.Unmarshal(raw, &counts)
		}
		if err != nil {
			t.Fatalf("%s of %s: %v", path, pod, err)
		}
		return counts
	}
	do("PUT", "8085", "steady")
	do("DELETE", "8086", "counts")
	return func() {
		t.Helper()
		for resolver, counts := range map[string]map[string]int{
			"Go": do("DELETE", "8085", "steady"), "C library": do("DELETE", "8086", "counts"),
		} {
			t.Logf("%s, %s: %v", pod, resolver, counts)
			for outcome, n := range counts {
				if !expected[outcome] {
					t.Errorf("%s, %s: %d lookups: %s", pod, resolver, n, outcome)
				}
			}
			for outcome := range expected {
				if counts[outcome] < 20 {
					t.Errorf("%s, %s: %d lookups: %s", pod, resolver, counts[outcome], outcome)
				}
			}
		}
	}
}
