package e2e

import (
	"strings"
	"testing"
	"time"
)

// namesManifests are a client and three services on port 9000: one and two over TCP, web over HTTP. Their VirtualNodes
// have hostnames without dots.
func namesManifests() string {
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Namespace, metadata: {name: names, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: names}
spec:
  podSelector: {matchLabels: {app: client}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: client}}
  backends:
    - virtualService: {virtualServiceRef: {name: one}}
    - virtualService: {virtualServiceRef: {name: two}}
    - virtualService: {virtualServiceRef: {name: web}}
    - virtualService: {virtualServiceRef: {name: hidden}}
    - virtualService: {virtualServiceRef: {name: hidden-web}}
---
{apiVersion: v1, kind: Service, metadata: {name: client, namespace: names}, spec: {selector: {app: client}, ports: [{port: 8080}]}}
`)
	deployment := `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: names}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 5
      containers: [{name: app, image: anymesh.dev/colors, args: ARGS, readinessProbe: {PROBE, periodSeconds: 1}}]
`
	service := `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: NAME, namespace: names}
spec:
  podSelector: {matchLabels: {app: NAME}}
  listeners: [{portMapping: {port: 9000, protocol: PROTOCOL}}]
  serviceDiscovery: {dns: {hostname: NAME}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: NAME, namespace: names}
spec: {awsName: NAME.names.svc.cluster.local, provider: {virtualNode: {virtualNodeRef: {name: NAME}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: names}, spec: {selector: {app: NAME}, ports: [{port: 9000}]}}
`
	add := func(template, name, args, probe, protocol string) {
		b.WriteString(strings.NewReplacer("NAME", name, "ARGS", args, "PROBE", probe, "PROTOCOL", protocol).Replace(template))
	}
	// These have no Service, and names that only the agent answers.
	hidden := `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: NAME, namespace: names}
spec:
  podSelector: {matchLabels: {app: NAME}}
  listeners: [{portMapping: {port: 9000, protocol: PROTOCOL}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: names.local, serviceName: NAME}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: NAME, namespace: names}
spec: {awsName: NAME.apps.pvt.aws.local, provider: {virtualNode: {virtualNodeRef: {name: NAME}}}}
`
	add(hidden, "hidden", "", "", "tcp")
	add(deployment, "hidden", "[echo, --listen=:9000, --version=hidden]", "tcpSocket: {port: 9000}", "")
	add(hidden, "hidden-web", "", "", "http")
	add(deployment, "hidden-web", "[serve, --listen=:9000, --version=hidden-web]", "httpGet: {path: /healthz, port: 9000}", "")
	add(deployment, "client", "[drive, --listen=:8080, --rate=0]", "httpGet: {path: /healthz, port: 8080}", "")
	for _, name := range []string{"one", "two"} {
		add(service, name, "", "", "tcp")
		add(deployment, name, "[echo, --listen=:9000, --version="+name+"]", "tcpSocket: {port: 9000}", "")
	}
	add(service, "web", "", "", "http")
	add(deployment, "web", "[serve, --listen=:9000, --version=web]", "httpGet: {path: /healthz, port: 9000}", "")
	return b.String()
}

// Services share a port, whatever their protocol: the addresses of their Services tell them apart. Sidecars look up
// hostnames without dots in the search domains of their pod.
func TestServicesShareAPort(t *testing.T) {
	apply(t, namesManifests())
	for _, name := range []string{"client", "one", "two", "web", "hidden", "hidden-web"} {
		waitReady(t, "names", "deployment/"+name)
	}
	for service, target := range map[string]string{
		"one":        "tcp://one.names.svc.cluster.local:9000",
		"two":        "tcp://two.names.svc.cluster.local:9000",
		"web":        "http://web.names.svc.cluster.local:9000/",
		"hidden":     "tcp://hidden.apps.pvt.aws.local:9000",
		"hidden-web": "http://hidden-web.apps.pvt.aws.local:9000/",
	} {
		eventually(t, 10*time.Second, "an answer of "+service, func() error {
			o, err := callFromIn(t.Context(), "names", "client", target)
			return want(o, err, o.Version == service, service)
		})
	}
	for _, name := range []string{"client", "one", "two", "web", "hidden", "hidden-web"} {
		status := run(t, "-n", "names", "get", "virtualnode.appmesh.k8s.aws", name, "-o",
			`jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}{"\n"}{end}`)
		if strings.Contains(status, "=False") || strings.Contains(status, "PortConflict") {
			t.Errorf("conditions of %s:\n%s", name, status)
		}
	}
	wantOutput(t, []string{"two.names has the address ", "two_names_tcp_9000"},
		"explain", "--from", "names/client", "tcp://two.names:9000")
}
