package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// explainedManifests are the services that requests of TestExplainIsWhatTrafficDoes reach: namespace explained with its
// own VirtualNodes. red has a listener for each kind of timeout, of stream, and of TLS with a client policy: a policy
// applies to all connections of a client to a destination.
func explainedManifests() string {
	var b strings.Builder
	b.WriteString(`
{apiVersion: v1, kind: Namespace, metadata: {name: explained, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}}
`)
	node := func(name, listeners, discovery string) {
		fmt.Fprintf(&b, `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: %[1]s, namespace: explained}
spec:
  podSelector: {matchLabels: {app: %[1]s}}
  listeners: [%[2]s]
  serviceDiscovery: {%[3]s}
`, name, listeners, discovery)
	}
	dns := func(name string) string { return "dns: {hostname: " + name + ".explained.svc.cluster.local}" }
	registry := func(name string) string {
		return "awsCloudMap: {namespaceName: explained.local, serviceName: " + name + "}"
	}
	node("red", strings.Join(redListeners, ", "), dns("red"))
	node("blue", httpListener+", "+tcpListener, dns("blue"))
	node("left", httpListener, registry("pool"))
	node("right", httpListener, registry("pool"))
	node("absent", httpListener+", "+tcpListener, registry("absent"))
	node("unready", httpListener, dns("unready"))
	node("lost", httpListener, dns("lost"))
	b.WriteString(`---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: external, namespace: explained}
spec:
  listeners: [` + httpListener + `]
  serviceDiscovery: {` + dns("outside") + `}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: client, namespace: explained}
spec:
  podSelector: {matchLabels: {app: client}}
  listeners: [{portMapping: {port: 8080, protocol: http}, timeout: {http: {perRequest: {unit: s, value: 0}}}}]
  serviceDiscovery: {` + dns("client") + `}
  backends:
`)
	for _, s := range explainedServices {
		if s.backend {
			fmt.Fprintf(&b, "    - virtualService: {virtualServiceRef: {name: %s}%s}\n", s.name, s.policy)
		}
	}
	for _, s := range explainedServices {
		fmt.Fprintf(&b, `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: %[1]s, namespace: explained}
spec: {awsName: %[1]s.explained.example, provider: {virtualRouter: {virtualRouterRef: {name: %[1]s}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {name: %[1]s, namespace: explained}
spec:
  listeners: [{portMapping: {port: %[2]d, protocol: %[3]s}}]
  routes:
%[4]s`, s.name, s.port, s.protocol, s.routes)
	}
	server := func(name, annotations string, containers ...string) {
		fmt.Fprintf(&b, `---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: explained}, spec: {selector: {app: %[1]s}, ports: [%[4]s]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: explained}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {%[2]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [%[3]s]
`, name, annotations, strings.Join(containers, ", "), explainedPorts())
	}
	container := func(name string, port int, command, probe string) string {
		return fmt.Sprintf(`{name: p%[2]d, image: anymesh.dev/colors, args: [%[3]s, "--listen=:%[2]d", --version=%[1]s], `+
			`readinessProbe: {%[4]s, periodSeconds: 1}}`, name, port, command, probe)
	}
	serve := func(name string, port int) string {
		return container(name, port, "serve", fmt.Sprintf("httpGet: {path: /healthz, port: %d}", port))
	}
	echo := func(name string, port int) string {
		return container(name, port, "echo", fmt.Sprintf("tcpSocket: {port: %d}", port))
	}
	server("red", "", serve("red", 8080), serve("red", 8081), serve("red", 8082), serve("red", 8090),
		serve("red", 8091), serve("red", 8092), serve("red", 8093), echo("red", 9000), echo("red", 9001),
		container("red", 8443, "serve, --tls", "tcpSocket: {port: 8443}"))
	server("blue", "", serve("blue", 8080), echo("blue", 9000))
	server("left", "", serve("left", 8080))
	server("right", "", serve("right", 8080))
	server("unready", "", container("unready", 8080, "serve", "httpGet: {path: /status/500, port: 8080}"))
	server("outside", "appmesh.k8s.aws/sidecarInjectorWebhook: disabled", serve("outside", 8080))
	server("client", "", `{name: app, image: anymesh.dev/colors, args: [drive, "--listen=:8080", --rate=0], `+
		`readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}`)
	return b.String()
}

const (
	httpListener = "{portMapping: {port: 8080, protocol: http}}"
	tcpListener  = "{portMapping: {port: 9000, protocol: tcp}}"

	explainedIdentity = "spiffe://cluster.local/ns/explained/sa/default"
	strictTLS         = `tls: {mode: STRICT, certificate: {sds: {secretName: "` + explainedIdentity + `"}}`
)

var redListeners = []string{
	httpListener, tcpListener, "{portMapping: {port: 8443, protocol: tcp}}",
	"{portMapping: {port: 9001, protocol: tcp}, timeout: {tcp: {idle: {unit: ms, value: 400}}}}",
	"{portMapping: {port: 8081, protocol: http}, timeout: {http: {perRequest: {unit: ms, value: 400}}}}",
	"{portMapping: {port: 8082, protocol: http}, timeout: {http: {idle: {unit: ms, value: 400}}}}",
	"{portMapping: {port: 8090, protocol: http}, " + strictTLS + "}}",
	"{portMapping: {port: 8092, protocol: http}, " + strictTLS + "}}",
	"{portMapping: {port: 8093, protocol: http}, " + strictTLS + "}}",
	"{portMapping: {port: 8091, protocol: http}, " + strictTLS + `, validation: {trust: {sds: {secretName: "spiffe://cluster.local"}}}}}`,
}

func explainedPorts() string {
	var out []string
	for _, port := range []int{8080, 8081, 8082, 8090, 8091, 8092, 8093, 8443, 9000, 9001} {
		out = append(out, fmt.Sprintf("{name: p%[1]d, port: %[1]d}", port))
	}
	return strings.Join(out, ", ")
}

// explainedService is a VirtualService with the routes of its router.
type explainedService struct {
	name, protocol string
	port           int
	backend        bool
	policy, routes string
}

// httpRoute is a route with a match, the rest of its fields, and targets with a weight and a port.
func httpRoute(name, match, rest string, targets ...string) string {
	if rest != "" {
		rest = ", " + rest
	}
	return fmt.Sprintf("    - {name: %s, httpRoute: {match: {%s}, action: {weightedTargets: [%s]}%s}}\n", name, match,
		strings.Join(targets, ", "), rest)
}

func tcpRoute(targets ...string) string { return idleRoute("", targets...) }

// idleRoute is a TCP route with an idle timeout.
func idleRoute(timeout string, targets ...string) string {
	if timeout != "" {
		timeout = ", timeout: {idle: {" + timeout + "}}"
	}
	return fmt.Sprintf("    - {name: all, tcpRoute: {action: {weightedTargets: [%s]}%s}}\n", strings.Join(targets, ", "), timeout)
}

func toNode(name string, weight, port int) string {
	return fmt.Sprintf("{virtualNodeRef: {name: %s}, weight: %d, port: %d}", name, weight, port)
}

// clientPolicy requires certificates of the mesh with a name.
func clientPolicy(name string) string {
	return fmt.Sprintf(`, clientPolicy: {tls: {validation: {trust: {sds: {secretName: "spiffe://cluster.local"}}, `+
		`subjectAlternativeNames: {match: {exact: [%q]}}}}}`, name)
}

var explainedServices = []explainedService{
	{"app", "http", 8080, true, "", strings.Join([]string{
		httpRoute("exact", "path: {exact: /red}", "", toNode("red", 1, 8080)),
		httpRoute("regex", `path: {regex: "/b[0-9]+/.*"}`, "", toNode("blue", 1, 8080)),
		httpRoute("present", "prefix: /header, headers: [{name: X-Color}]", "", toNode("red", 1, 8080)),
		httpRoute("range", "prefix: /range, headers: [{name: x-age, match: {range: {start: 3, end: 7}}}]", "", toNode("blue", 1, 8080)),
		httpRoute("invert", "prefix: /invert, headers: [{name: x-color, invert: true, match: {exact: red}}]", "", toNode("blue", 1, 8080)),
		httpRoute("host", "prefix: /host, headers: [{name: Host, match: {suffix: '.Example:8080'}}]", "", toNode("red", 1, 8080)),
		httpRoute("pseudo", "prefix: /pseudo, headers: [{name: ':method', match: {exact: PUT}}, {name: ':path', match: {suffix: x}}]", "", toNode("red", 1, 8080)),
		httpRoute("method", "prefix: /method, method: POST", "", toNode("red", 1, 8080)),
		httpRoute("query", "prefix: /query, queryParameters: [{name: q, match: {exact: a}}]", "", toNode("blue", 1, 8080)),
		httpRoute("weights", "prefix: /weights", "", toNode("red", 1, 8080), toNode("blue", 1, 8080)),
		httpRoute("pool", "prefix: /pool", "", toNode("left", 1, 8080)),
		httpRoute("outside", "prefix: /outside", "", toNode("external", 1, 8080)),
	}, "")},
	{"gone", "http", 8080, true, "", strings.Join([]string{
		httpRoute("absent", "prefix: /absent", "", toNode("absent", 1, 8080)),
		httpRoute("unready", "prefix: /unready", "", toNode("unready", 1, 8080)),
		httpRoute("lost", "prefix: /lost", "", toNode("lost", 1, 8080)),
		httpRoute("mixed", "prefix: /mixed", "", toNode("red", 1, 8080), toNode("absent", 1, 8080)),
	}, "")},
	{"retry", "http", 8080, true, "", strings.Join([]string{
		httpRoute("server", "prefix: /, headers: [{name: x-policy, match: {exact: server}}]",
			"retryPolicy: {maxRetries: 3, perRetryTimeout: {unit: s, value: 5}, httpRetryEvents: [server-error]}", toNode("red", 1, 8080)),
		httpRoute("gateway", "prefix: /, headers: [{name: x-policy, match: {exact: gateway}}]",
			"retryPolicy: {maxRetries: 1, perRetryTimeout: {unit: s, value: 5}, httpRetryEvents: [gateway-error]}", toNode("red", 1, 8080)),
		httpRoute("conflict", "prefix: /, headers: [{name: x-policy, match: {exact: conflict}}]",
			"retryPolicy: {maxRetries: 2, perRetryTimeout: {unit: s, value: 5}, httpRetryEvents: [client-error]}", toNode("red", 1, 8080)),
		httpRoute("none", "prefix: /, headers: [{name: x-policy, match: {exact: none}}]",
			"retryPolicy: {maxRetries: 0, perRetryTimeout: {unit: s, value: 5}, httpRetryEvents: [server-error]}", toNode("red", 1, 8080)),
		httpRoute("default", "prefix: /", "", toNode("red", 1, 8080)),
	}, "")},
	{"slow", "http", 8080, true, "", slowRoutes()},
	{"stream", "tcp", 9000, true, "", tcpRoute(toNode("red", 1, 9000))},
	{"pair", "tcp", 9000, true, "", tcpRoute(toNode("red", 1, 9000), toNode("blue", 1, 9000))},
	{"brief", "tcp", 9000, true, "", idleRoute("unit: ms, value: 300", toNode("red", 1, 9000))},
	{"patient", "tcp", 9000, true, "", idleRoute("unit: s, value: 60", toNode("red", 1, 9001))},
	{"void", "tcp", 9000, true, "", tcpRoute(toNode("absent", 1, 9000))},
	{"secure", "tcp", 8443, true, "", tcpRoute(toNode("red", 1, 8443))},
	{"sealed", "http", 8080, true, "", httpRoute("all", "prefix: /", "", toNode("red", 1, 8090))},
	{"named", "http", 8080, true, clientPolicy(explainedIdentity), httpRoute("all", "prefix: /", "", toNode("red", 1, 8092))},
	{"misnamed", "http", 8080, true, clientPolicy(explainedIdentity + "-other"), httpRoute("all", "prefix: /", "", toNode("red", 1, 8093))},
	{"mutual", "http", 8080, true, "", httpRoute("all", "prefix: /", "", toNode("red", 1, 8091))},
	{"hidden", "http", 8080, false, "", httpRoute("all", "prefix: /", "", toNode("red", 1, 8080))},
}

// slowPolicies are timeouts and retries of the routes of service slow, slowPorts the ports of red behind each.
var (
	slowPolicies = map[string]string{
		"request": "timeout: {perRequest: {unit: ms, value: 300}}",
		"idle":    "timeout: {idle: {unit: ms, value: 300}}",
		"long":    "timeout: {perRequest: {unit: s, value: 60}}",
		"none":    "timeout: {perRequest: {unit: s, value: 0}, idle: {unit: s, value: 0}}",
		"tries":   "retryPolicy: {maxRetries: 1, perRetryTimeout: {unit: ms, value: 200}, httpRetryEvents: [server-error]}",
		"again": "timeout: {perRequest: {unit: s, value: 60}}, " +
			"retryPolicy: {maxRetries: 1, perRetryTimeout: {unit: s, value: 0}, httpRetryEvents: [gateway-error]}",
	}
	slowPorts = []int{8080, 8081, 8082}
)

// slowRoutes has a route for each policy and port, which the headers x-policy and x-port select.
func slowRoutes() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(slowPolicies)) {
		for _, port := range slowPorts {
			match := fmt.Sprintf(`prefix: /, headers: [{name: x-policy, match: {exact: %s}}, {name: x-port, match: {exact: "%d"}}]`, name, port)
			b.WriteString(httpRoute(fmt.Sprintf("%s-%d", name, port), match, slowPolicies[name], toNode("red", 1, port)))
		}
	}
	return b.String()
}
