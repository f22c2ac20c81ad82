package observe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/internal/driver/pipy"
)

// authorizationObjects are two Services with their own ServiceAccounts, and clients with different permissions. The
// arguments are the permissive mode and further objects.
const authorizationObjects = `The product of permissions and requests.
-- objects.yaml --
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: osm-system}
spec: {traffic: {enablePermissiveTrafficPolicyMode: %v, enableEgress: false}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {openservicemesh.io/monitored-by: osm}}}
---
apiVersion: v1
kind: Pod
metadata: {name: blue-1, namespace: shop, uid: blue-1, labels: {app: web, color: blue, anymesh.dev/proxy-uuid: a}}
spec: {serviceAccountName: blue, containers: [{name: app}]}
status: {podIP: 10.200.0.1, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: green-1, namespace: shop, uid: green-1, labels: {app: web, color: green, anymesh.dev/proxy-uuid: b}}
spec: {serviceAccountName: green, containers: [{name: app}]}
status: {podIP: 10.200.0.2, conditions: [{type: Ready, status: "True"}]}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: web}, clusterIP: 198.19.0.1, ports: [{name: http-a, port: 80, targetPort: 8080}, {name: tcp-c, port: 5000}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: blue, namespace: shop}, spec: {selector: {color: blue}, clusterIP: 198.19.0.2, ports: [{name: http-a, port: 80, targetPort: 8080}, {name: grpc-b, port: 9090}, {name: tcp-c, port: 5000}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: green, namespace: shop}, spec: {selector: {color: green}, clusterIP: 198.19.0.3, ports: [{name: http-a, port: 80, targetPort: 8080}, {name: tcp-c, port: 5000}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: apex, namespace: shop}, spec: {selector: {app: web}, clusterIP: 198.19.0.4, ports: [{name: http-a, port: 80, targetPort: 8080}, {name: tcp-c, port: 5000}]}}
---
{apiVersion: split.smi-spec.io/v1alpha4, kind: TrafficSplit, metadata: {name: apex, namespace: shop}, spec: {service: apex, backends: [{service: blue, weight: 50}, {service: green, weight: 50}]}}
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: {name: routes, namespace: shop}
spec: {matches: [{name: any}, {name: read, pathRegex: /read/.*, methods: [GET]}, {name: write, pathRegex: "/write|/a.B/Write", methods: [POST]}]}
---
{apiVersion: specs.smi-spec.io/v1alpha4, kind: TCPRoute, metadata: {name: c, namespace: shop}, spec: {matches: {ports: [5000]}}}
`

// authorizationClients are the clients, with the rules that each has for blue and for green.
var authorizationClients = map[string][2]string{
	"everything": {"any tcp", "any tcp"}, "reader": {"read", ""}, "writer": {"write", ""}, "both": {"read write", "any"},
	"streams": {"tcp", ""}, "green": {"", "any tcp"}, "nobody": {"", ""},
}

func authorizationTargets() string {
	var b strings.Builder
	for client, rules := range authorizationClients {
		fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: shop}}\n", client)
		for i, to := range []string{"blue", "green"} {
			var list []string
			for _, rule := range strings.Fields(rules[i]) {
				if rule == "tcp" {
					list = append(list, "{kind: TCPRoute, name: c}")
				} else {
					list = append(list, fmt.Sprintf("{kind: HTTPRouteGroup, name: routes, matches: [%s]}", rule))
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(&b, "---\napiVersion: access.smi-spec.io/v1alpha3\nkind: TrafficTarget\nmetadata: {name: %s-%s, namespace: shop}\n"+
					"spec: {destination: {kind: ServiceAccount, name: %s, namespace: shop}, rules: [%s], "+
					"sources: [{kind: ServiceAccount, name: %s, namespace: shop}]}\n", client, to, to, strings.Join(list, ", "), client)
			}
		}
	}
	return b.String()
}

// authorizationRequest is a request to a port of blue.
type authorizationRequest struct {
	line, rule string // rule is the name of the match that allows it besides any
}

func authorizationRequests() (all []authorizationRequest) {
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, path := range []string{"/read/1", "/read/1?x=/write", "/write", "/write/more", "/"} {
			r := authorizationRequest{line: method + " http://blue.shop:8080" + path}
			switch {
			case method == "GET" && strings.HasPrefix(path, "/read/"):
				r.rule = "read"
			case method == "POST" && path == "/write":
				r.rule = "write"
			}
			all = append(all, r)
		}
	}
	return append(all,
		authorizationRequest{"grpc http://blue.shop:9090/a.B/Write", "write"},
		authorizationRequest{"grpc http://blue.shop:9090/a.B/Read", "none"},
		authorizationRequest{"tcp 10.200.0.1:5000", "tcp"},
	)
}

// authorizationLines are the requests with the results that SMI defines.
func authorizationLines(permissive bool) string {
	var b strings.Builder
	for client, rules := range authorizationClients {
		allowed := strings.Fields(rules[0])
		for _, r := range authorizationRequests() {
			http := r.rule != "tcp"
			denied := "403"
			if !http {
				denied = "refused"
			}
			want := denied
			if permissive || slices.Contains(allowed, r.rule) || http && slices.Contains(allowed, "any") {
				want = "application"
			}
			fmt.Fprintf(&b, "into shop/blue tls spiffe://cluster.local/ns/shop/sa/%s: %s => %s\n", client, r.line, want)
		}
	}
	for _, r := range authorizationRequests() {
		for _, stranger := range []string{
			"", " tls", " tls spiffe://elsewhere/ns/shop/sa/everything",
		} {
			if stranger == "" && r.rule == "tcp" {
				continue // both sides would wait for the other one
			}
			fmt.Fprintf(&b, "into shop/blue%s: %s => refused\n", stranger, r.line)
		}
		want := map[bool]string{true: "application", false: "403"}[permissive]
		if r.rule == "tcp" && !permissive {
			want = "refused"
		}
		fmt.Fprintf(&b, "into shop/blue tls spiffe://cluster.local/ns/other/sa/everything: %s => %s\n", r.line, want)
	}
	for client, rules := range authorizationClients {
		for _, kind := range []string{"http", "tcp"} {
			b.WriteString(authorizationWays(client, kind, rules, permissive))
		}
	}
	return b.String()
}

// authorizationWays are the requests of a client to a Service with pods of both accounts, and to a TrafficSplit.
func authorizationWays(client, kind string, rules [2]string, permissive bool) string {
	may := func(rules string) bool {
		ofKind := func(rule string) bool { return (rule == "tcp") == (kind == "tcp") }
		return slices.ContainsFunc(strings.Fields(rules), ofKind)
	}
	blue, green := may(rules[0]), may(rules[1])
	port, web, apex := 80, "GET http://web.shop/", "GET http://apex.shop/"
	if kind == "tcp" {
		port, web, apex = 5000, "tcp 198.19.0.1:5000", "tcp 198.19.0.4:5000"
	}
	var toWeb, toApex string
	switch {
	case permissive || blue == green:
		toWeb = fmt.Sprintf("shop/web:%d", port)
		toApex = fmt.Sprintf("shop/blue:%d 50, shop/green:%d 50", port, port)
	case blue:
		toWeb, toApex = fmt.Sprintf("shop/web:%d@blue", port), fmt.Sprintf("shop/blue:%d", port)
	case green:
		toWeb, toApex = fmt.Sprintf("shop/web:%d@green", port), fmt.Sprintf("shop/green:%d", port)
	}
	return fmt.Sprintf("from shop/%s: %s => %s\nfrom shop/%s: %s => %s\n", client, web, toWeb, client, apex, toApex)
}

// TestAuthorization checks that the sidecars and the interpreter allow and route what SMI defines, for the product of
// identities, protocols, routes, methods, TrafficSplits and permissive mode.
func TestAuthorization(t *testing.T) {
	all := []Sidecar{envoys(t)[0], sidecarOf(t, native.Name), sidecarOf(t, grpc.Name)}
	if _, err := exec.LookPath(pipyProgram()); err == nil {
		all = append(all, sidecarOf(t, pipy.Name))
	}
	for _, permissive := range []bool{false, true} {
		t.Run(fmt.Sprintf("permissive=%v", permissive), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "authorization.txtar")
			text := fmt.Sprintf(authorizationObjects, permissive) + authorizationTargets() + "-- requests.txt --\n" +
				authorizationLines(permissive)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			c, err := ReadCase(path)
			if err != nil {
				t.Fatal(err)
			}
			m := c.translated()
			for _, l := range c.Lines {
				view, err := m.View(l.Workload)
				if err != nil {
					t.Fatal(err)
				}
				for _, wrong := range l.connecting(m.State.Index, view).Check(view) {
					t.Errorf("%d: %s", l.Number, wrong)
				}
			}
			for _, s := range all {
				for _, workload := range c.Workloads() {
					t.Run(workload+"/"+s.Name, func(t *testing.T) {
						t.Parallel()
						report(t, s, func() ([]string, error) { return observe(t.Context(), c, workload, s.Name) })
					})
				}
			}
		})
	}
}
