package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// podIPs returns the IPv4 and the IPv6 address of the pod with a label.
func podIPs(t *testing.T, namespace, label string) [2]string {
	t.Helper()
	ips := strings.Fields(run(t, "-n", namespace, "get", "pods", "-l", label, "-o",
		"jsonpath={.items[0].status.podIPs[*].ip}"))
	if len(ips) != 2 || strings.Contains(ips[0], ":") || !strings.Contains(ips[1], ":") {
		t.Fatalf("addresses of the pod %s: %v; want one of each family", label, ips)
	}
	return [2]string{ips[0], ips[1]}
}

// callerManifests run a pod of the mesh without backends. Its annotations exclude some traffic from capture.
const callerManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: caller}
spec:
  podSelector: {matchLabels: {app: caller}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: caller.colors.svc.cluster.local}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: caller}
spec: {selector: {app: caller}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: caller}
spec:
  selector: {matchLabels: {app: caller}}
  template:
    metadata:
      labels: {app: caller}
      annotations: {%s}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [drive, --listen=:8080, --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

func refused(o outcome) bool { return o.Status == 0 && o.Error != "" }

// TestOutboundCapture checks that outbound connections are captured over IPv4 and IPv6, except those that annotations
// exclude.
func TestOutboundCapture(t *testing.T) {
	apply(t, outsideManifests)
	waitReady(t, "outside", "deployment/outside")
	ips := podIPs(t, "outside", "app=outside")
	for _, test := range []struct {
		name, annotations string
		a, b              bool // whether ports 8080 and 7070 of outside are reached
	}{
		{"no exclusion", "", false, false},
		{"ignored port", `appmesh.k8s.aws/egressIgnoredPorts: "7070"`, false, true},
		{"ignored addresses", fmt.Sprintf(`appmesh.k8s.aws/egressIgnoredIPs: "%s,%s/128"`, ips[0], ips[1]), true, true},
		{"ignored networks", `appmesh.k8s.aws/egressIgnoredIPs: "10.0.0.0/8,fd00::/8"`, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			apply(t, fmt.Sprintf(callerManifests, test.annotations))
			waitReady(t, "colors", "deployment/caller")
			for _, ip := range ips {
				for port, reached := range map[int]bool{8080: test.a, 7070: test.b} {
					o, err := callFrom(t.Context(), "caller", hostPort(ip, port))
					if err := want(o, err, reached && o.Version == "outside" || !reached && refused(o),
						fmt.Sprintf("reached: %v", reached)); err != nil {
						t.Errorf("%s: %v", hostPort(ip, port), err)
					}
				}
			}
		})
	}
}

// TestInboundCapture checks that inbound connections to a listener port pass through the sidecar, over IPv4 and IPv6,
// and that other ports bypass it.
func TestInboundCapture(t *testing.T) {
	apply(t, outsideManifests)
	waitReady(t, "outside", "deployment/outside")
	for _, ip := range podIPs(t, "colors", "app=tally") {
		o := fromOutside(t, hostPort(ip, 8081))
		if o.Version != "tally" || !strings.Contains(o.Body, "X-Request-Id") {
			t.Errorf("%s: want the response of tally with the request header that the sidecar adds, got %+v", hostPort(ip, 8081), o)
		}
		o = fromOutside(t, fmt.Sprintf("http://%s/ready", strings.TrimSuffix(strings.TrimPrefix(hostPort(ip, 15020), "http://"), "/")))
		if o.Status != 200 {
			t.Errorf("agent at %s: %+v", ip, o)
		}
	}
}

// fromOutside makes a request from the pod outside the mesh.
func fromOutside(t *testing.T, target string) outcome {
	t.Helper()
	pod := run(t, "-n", "outside", "get", "pods", "-l", "app=outside", "-o", "jsonpath={.items[0].metadata.name}")
	var o outcome
	eventually(t, 10*time.Second, target, func() error {
		raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("outside").Resource("pods").Name(pod+":6060").
			SubResource("proxy").Suffix("call").Param("url", target).DoRaw(t.Context())
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &o)
	})
	return o
}
