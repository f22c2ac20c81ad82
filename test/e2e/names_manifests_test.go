package e2e

import "strings"

// servers are the VirtualNodes and Deployments that clients call on port 9000.
var servers = []struct {
	name, protocol string
	families       string // ipFamilyPolicy of the Service; empty: no Service
}{
	{"one", "tcp", "PreferDualStack"},
	{"two", "tcp", "SingleStack"},
	{"hidden", "tcp", ""},
	{"lone", "tcp", ""},
	{"web", "http", "PreferDualStack"},
	{"hidden-web", "http", ""},
}

// names are the awsNames of the VirtualServices. All are backends of the clients.
var names = []struct{ name, awsName, server string }{
	{"one", "one.names.svc.cluster.local", "one"},
	{"two", "two.names", "two"}, // the default of awsName
	{"web", "web.names.svc.cluster.local", "web"},
	// No Service has these names.
	{"hidden", "hidden.apps.pvt.aws.local", "hidden"},
	{"hidden-web", "Hidden-Web.apps.pvt.aws.local", "hidden-web"},
	{"lone", "lone.names.svc.cluster.local", "lone"}, // below a search domain
	{"lone-web", "lone-web.names", "hidden-web"},
	{"db", "db", "hidden"}, // without dots
	{"shop", "shop", "hidden-web"},
}

const serverTemplate = `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: NAME, namespace: names}
spec:
  podSelector: {matchLabels: {app: NAME}}
  listeners: [{portMapping: {port: 9000, protocol: PROTOCOL}}]
  serviceDiscovery: {DISCOVERY}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: names}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [PROGRAM, --listen=:9000, --version=NAME]
          readinessProbe: {PROBE, periodSeconds: 1}
`

const nameTemplate = `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: NAME, namespace: names}
spec: {awsName: AWS, provider: {virtualNode: {virtualNodeRef: {name: SERVER}}}}
`

const serviceTemplate = `---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: names}
spec: {selector: {app: NAME}, ports: [{port: 9000}], ipFamilyPolicy: FAMILIES}
`

// namesManifests are servers of both protocols on one port, the VirtualNode of their clients, and a Service that is no
// backend.
func namesManifests() string {
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Namespace, metadata: {name: names, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
---
{apiVersion: v1, kind: Service, metadata: {name: client, namespace: names}, spec: {selector: {app: client}, ports: [{port: 8080}]}}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: names}
spec:
  selector: {app: web}
  ports: [{name: used, port: 9000}, {name: unused, port: 9001, targetPort: 9000}]
  ipFamilyPolicy: PreferDualStack
`)
	add := func(template string, values ...string) {
		b.WriteString(strings.NewReplacer(values...).Replace(template))
	}
	for _, s := range servers {
		// A hostname without dots is looked up in the search domains of the client.
		discovery := "dns: {hostname: " + s.name + "}"
		if s.families == "" {
			discovery = "awsCloudMap: {namespaceName: names.local, serviceName: " + s.name + "}"
		} else {
			add(serviceTemplate, "NAME", s.name, "FAMILIES", s.families)
		}
		program, probe := "echo", "tcpSocket: {port: 9000}"
		if s.protocol == "http" {
			program, probe = "serve", "httpGet: {path: /healthz, port: 9000}"
		}
		add(serverTemplate, "NAME", s.name, "PROTOCOL", s.protocol, "DISCOVERY", discovery, "PROGRAM", program,
			"PROBE", probe)
	}
	b.WriteString(`---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: names}
spec:
  podSelector: {matchLabels: {app: client}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: client}}
  backends:
`)
	for _, n := range names {
		b.WriteString("    - virtualService: {virtualServiceRef: {name: " + n.name + "}}\n")
	}
	for _, n := range names {
		add(nameTemplate, "NAME", n.name, "AWS", n.awsName, "SERVER", n.server)
	}
	return b.String()
}

// clientManifests run a pod with a client in Go and clients with the resolvers of Python and of musl.
func clientManifests(name, annotations string) string {
	return strings.NewReplacer("NAME", name, "ANNOTATIONS", annotations, "PYTHON", pythonImage, "MUSL",
		muslImage).Replace(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: names}
spec:
  selector: {matchLabels: {client: NAME}}
  template:
    metadata: {labels: {app: client, client: NAME}, annotations: {ANNOTATIONS}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: go
          image: anymesh.dev/colors
          args: [drive, --listen=:8080, --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
        - {name: python, image: PYTHON, command: [sleep, infinity]}
        - {name: musl, image: MUSL, command: [sleep, infinity]}
`)
}
