package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// target is a name that clients call, with the answer over each family.
type target struct {
	host, protocol string
	port           int
	ipv4, ipv6     string
	reserved       bool // only the agent resolves the name
}

// reached are names over which a server answers over both families.
func reached(server, protocol string, hosts ...string) []target {
	var out []target
	for _, h := range hosts {
		out = append(out, target{host: h, protocol: protocol, port: 9000, ipv4: server, ipv6: server})
	}
	return out
}

// targets lists what clients call, with the answers under an egress filter.
func targets(egress string) []target {
	var out []target
	with := func(change func(*target), all []target) {
		for _, t := range all {
			change(&t)
			out = append(out, t)
		}
	}
	unchanged := func(*target) {}
	onlyIPv4 := func(t *target) { t.ipv6 = unresolved }
	reserved := func(t *target) { t.reserved = true }

	with(unchanged, reached("one", "tcp", "one.names.svc.cluster.local", "one.names.svc", "one.names", "one",
		"one.names.svc.cluster.local.", "One.Names.SVC.Cluster.Local"))
	with(onlyIPv4, reached("two", "tcp", "two.names.svc.cluster.local", "two.names.svc", "two.names", "two"))
	with(reserved, reached("hidden", "tcp", "hidden.apps.pvt.aws.local", "hidden.apps.pvt.aws.local.",
		"Hidden.Apps.PVT.aws.local", "db", "db."))
	with(reserved, reached("lone", "tcp", "lone.names.svc.cluster.local", "lone.names.svc", "lone.names", "lone",
		"lone.names.svc.cluster.local.", "Lone.Names"))
	with(unchanged, reached("web", "http", "web.names.svc.cluster.local", "Web.Names.SVC.Cluster.Local",
		"web.names.svc.cluster.local."))
	with(reserved, reached("hidden-web", "http", "hidden-web.apps.pvt.aws.local", "Hidden-WEB.apps.pvt.aws.local",
		"shop", "lone-web.names"))

	undeclared := func(t *target) { t.ipv4, t.ipv6 = unresolved, unresolved }
	with(undeclared, reached("", "tcp", "nosuch.apps.pvt.aws.local", "nosuch.names", "nosuch",
		"hidden.names.svc.cluster.local"))
	// The sidecar rejects other host names, also those that resolve to the address of a backend.
	used, unused := "status 404", closed
	if egress == "ALLOW_ALL" {
		used, unused = "web", "web"
	}
	with(unchanged, reached(used, "http", "other.names", "other", "web.names", "web"))
	with(func(t *target) { t.port = 9001 }, reached(unused, "http", "other.names"))
	// The names of Cloud Map have the addresses of the pods, which are no backends. Under DROP_ALL, the sidecar decodes
	// these connections as HTTP, because a service on the port is HTTP.
	if egress == "DROP_ALL" {
		with(reserved, reached("status 404", "http", "hidden-web.names.local"))
	} else {
		with(reserved, reached("hidden-web", "http", "hidden-web.names.local"))
		with(reserved, reached("hidden", "tcp", "hidden.names.local", "Hidden.Names.local."))
	}
	return out
}

// callsTo returns the calls to the targets over each family.
func callsTo(all []target, dns bool) []call {
	var out []call
	for _, t := range all {
		if t.reserved && !dns {
			t.ipv4, t.ipv6 = unresolved, unresolved
		}
		c := call{host: t.host, port: t.port, protocol: t.protocol}
		for _, c.family = range []string{"any", "ipv4", "ipv6"} {
			c.want = t.ipv4
			if c.family == "ipv6" {
				c.want = t.ipv6
			}
			out = append(out, c)
		}
	}
	return out
}

// TestServicesShareAPort checks names and addresses from clients with several resolvers, and with the oldest and the
// newest supported Envoy. Services share a port, whatever their protocol. Names without a Service resolve unless the
// DNS server of the agent is off. All other names answer as they do without it.
func TestServicesShareAPort(t *testing.T) {
	t.Cleanup(func() {
		if err := installAnymesh(contextOf(t)); err != nil {
			t.Error(err)
		}
	})
	installWith(t, fmt.Sprintf(`{osm: {sidecarImage: %q}}`, oldEnvoyImage))
	apply(t, namesManifests()+"---\n"+clientManifests("client-old", ""))
	for _, s := range servers {
		waitReady(t, "names", "deployment/"+s.name)
	}
	waitReady(t, "names", "deployment/client-old")
	installWith(t, `{}`)
	apply(t, clientManifests("client-new", "")+"---\n"+clientManifests("client-off", `anymesh.dev/dns: "Off"`))
	pods := map[string]string{}
	for _, name := range []string{"client-new", "client-off", "client-old"} {
		waitReady(t, "names", "deployment/"+name)
		pods[name] = run(t, "-n", "names", "get", "pods", "-l", "client="+name, "-o",
			"jsonpath={.items[0].metadata.name}")
	}
	for name, version := range map[string]string{"client-old": "/1.36.", "client-new": "/1.40."} {
		out := run(t, "-n", "names", "exec", pods[name], "-c", "envoy", "--", "envoy", "--version")
		if !strings.Contains(out, version) {
			t.Fatalf("version of Envoy in %s: %s", name, out)
		}
	}

	t.Cleanup(func() { patchMesh(t, "DROP_ALL") })
	for _, egress := range []string{"DROP_ALL", "ALLOW_ALL"} {
		t.Run(egress, func(t *testing.T) {
			patchMesh(t, egress)
			var all []*client
			for name, pod := range pods {
				calls := callsTo(targets(egress), name != "client-off")
				for language, caller := range callers {
					all = append(all, &client{name: name + " in " + language, pod: pod, caller: caller, calls: calls})
				}
			}
			wantAnswers(t, all)
		})
	}
	wantNoConflicts(t)
	wantOutput(t, []string{"two.names has the address ", "two_names_tcp_9000"},
		"explain", "--from", "names/client", "tcp://two.names:9000")
	const hidden = "hidden.apps.pvt.aws.local"
	wantOutput(t, []string{"no Service is called " + hidden + ": the agent answers the reserved address 240.240.", "hidden_names_tcp_9000"},
		"explain", "--from", "names/client", "tcp://"+hidden+":9000")
	for _, command := range [][]string{{"proxy", "config", "names/client"}, {"describe", "workload", "names/client"}} {
		wantOutput(t, []string{"  hidden-web.apps.pvt.aws.local  240.240.", "  hidden.names.local "}, command...)
	}
	wantOutput(t, []string{"  Hidden-Web.apps.pvt.aws.local  240.240."}, "describe", "service", "hidden-web", "-n", "names")
	t.Run("check", func(t *testing.T) { checkNames(t, pods["client-off"]) })
}

// checkNames tests that commands report a pod with DNS mode Off, and a Service with an address of a reserved range.
func checkNames(t *testing.T, off string) {
	apply(t, `
apiVersion: v1
kind: Service
metadata: {name: reserved, namespace: names}
spec: {ports: [{port: 9}], externalIPs: [240.240.0.9]}
`)
	eventually(t, 30*time.Second, "check finds both", func() error {
		out, code := runVerb(t, "check")
		for _, text := range []string{
			"ReservedRangesFree: osm.reservedRanges: 240.240.0.0/16 overlaps Service names/reserved (spec.externalIPs 240.240.0.9)",
			"NamesAnswered: VirtualNode names/client, pod " + off + ": ",
		} {
			if code != 1 || !strings.Contains(out, text) {
				return fmt.Errorf("exit code %d, want %q in\n%s", code, text, out)
			}
		}
		return nil
	})
	wantOutput(t, []string{"DNS mode: Off"}, "describe", "pod", off, "-n", "names")
	wantOutput(t, []string{"the DNS mode of the sender is Off: only another DNS server can resolve it"},
		"explain", "--from", "pod/"+off, "-n", "names", "http://hidden-web.apps.pvt.aws.local:9000/")
}

// installWith installs Anymesh with values of the chart. Only pods that start later get other sidecars.
func installWith(t *testing.T, text string) {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := installAnymesh(t.Context(), "--values", values); err != nil {
		t.Fatal(err)
	}
}

// client is a client in a container of a pod, with its calls.
type client struct {
	name, pod string
	caller    caller
	calls     []call
	done      bool
}

// wantAnswers repeats the calls of each client until all its answers are as expected, at one time.
func wantAnswers(t *testing.T, all []*client) {
	t.Helper()
	eventually(t, 20*time.Second, "answers", func() error {
		errs := make([]error, len(all))
		var wait sync.WaitGroup
		for i, c := range all {
			wait.Go(func() { errs[i] = c.check(t.Context()) })
		}
		wait.Wait()
		return errors.Join(errs...)
	})
}

// check makes all calls once, unless they had the expected answers before.
func (c *client) check(ctx context.Context) error {
	if c.done {
		return nil
	}
	answers, err := c.caller(ctx, c.pod, c.calls)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	var wrong strings.Builder
	for i, to := range c.calls {
		if answers[i] != to.want {
			fmt.Fprintf(&wrong, "\n%s://%s:%d over %s: want %q, got %.200q", to.protocol, to.host, to.port, to.family,
				to.want, answers[i])
		}
	}
	if c.done = wrong.Len() == 0; c.done {
		return nil
	}
	return fmt.Errorf("%s:%s", c.name, wrong.String())
}

// wantNoConflicts checks the conditions of all VirtualNodes.
func wantNoConflicts(t *testing.T) {
	t.Helper()
	status := run(t, "-n", "names", "get", "virtualnodes.appmesh.k8s.aws", "-o",
		`jsonpath={range .items[*]}{.metadata.name}{range .status.conditions[*]} {.type}={.status} {.reason}{end}{"\n"}{end}`)
	if !strings.Contains(status, "=True") || strings.Contains(status, "=False") ||
		strings.Contains(status, "PortConflict") {
		t.Errorf("conditions of the VirtualNodes:\n%s", status)
	}
}
