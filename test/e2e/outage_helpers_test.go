package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// onNode runs a command in the network and process namespace of the cluster node. It does not use the API server.
func onNode(ctx context.Context, argv ...string) (string, error) {
	return anymesh(ctx, append([]string{"sandbox", "exec", "--name", lab.name, "--"}, argv...)...)
}

func mustOnNode(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := onNode(t.Context(), argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fetch requests a URL of a pod or a Service from the node.
func fetch(ctx context.Context, url string) (string, error) {
	return onNode(ctx, "python3", "-c",
		"import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())", url)
}

// metric sums a metric in Prometheus text format over all series whose labels contain a text.
func metric(text, name, label string) (sum float64) {
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if base, labels, _ := strings.Cut(series, "{"); base == name && strings.Contains(labels, label) {
			n, _ := strconv.ParseFloat(value, 64)
			sum += n
		}
	}
	return sum
}

// controlPlaneAddresses returns the addresses of the running control planes.
func controlPlaneAddresses(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, p := range podsOf(t, "anymesh-system", "app.kubernetes.io/name=anymesh") {
		if p.Status.PodIP != "" {
			out = append(out, hostPort(p.Status.PodIP, 9090))
		}
	}
	return out
}

// sumMetric sums a metric over control planes. It does not use the API server.
func sumMetric(ctx context.Context, planes []string, name, label string) (sum float64, err error) {
	for _, plane := range planes {
		text, err := fetch(ctx, plane+"metrics")
		if err != nil {
			return 0, err
		}
		sum += metric(text, name, label)
	}
	return sum, nil
}

// streamsPerPod counts the streams of a pod to the control plane: one of Envoy and one of the agent.
const streamsPerPod = 2

// waitAllConnected waits until the given number of sidecars have their streams and no message is sent or acknowledged
// anymore.
func waitAllConnected(t *testing.T, planes []string, sidecars int) {
	t.Helper()
	began := time.Now()
	var before map[string]float64
	eventually(t, 90*time.Second, "all sidecars are connected", func() error {
		figures := map[string]float64{
			"anymesh_xds_streams": 0, "anymesh_xds_responses_total": 0, "anymesh_xds_acks_total": 0,
		}
		for name := range figures {
			var err error
			if figures[name], err = sumMetric(t.Context(), planes, name, ""); err != nil {
				return err
			}
		}
		settled := maps.Equal(figures, before)
		before = figures
		if int(figures["anymesh_xds_streams"]) != streamsPerPod*sidecars || !settled {
			return fmt.Errorf("want %d streams and constant counters, got %v", streamsPerPod*sidecars, figures)
		}
		return nil
	})
	t.Logf("%d sidecars were connected after %v", sidecars, time.Since(began).Round(time.Second))
}

// scopes selects the metrics of scopes. Envoy reports no versions for a collection when it reconnects, so that its
// scopes are sent again; their routes are not.
const scopes = `type="scope"`

// checkNothingSent checks that control planes that have just started sent no resources except for scopes. They send
// only the empty response that a client expects for each type with a wildcard subscription: listeners, clusters, host
// names and the authority.
func checkNothingSent(t *testing.T, planes []string, sidecars int) {
	t.Helper()
	figures := map[string]float64{}
	for _, name := range []string{"resources", "responses", "sent_bytes"} {
		figures[name] = sumWithoutScopes(t, planes, "anymesh_xds_"+name+"_total")
	}
	t.Logf("sent to %d sidecars: %v", sidecars, figures)
	if figures["resources"] != 0 || figures["responses"] > float64(4*sidecars) ||
		figures["sent_bytes"] > 128*figures["responses"] {
		t.Errorf("%d sidecars got more than four empty responses each: %v", sidecars, figures)
	}
}

// sumWithoutScopes reads each control plane once: scopes may be sent between two requests.
func sumWithoutScopes(t *testing.T, planes []string, name string) (sum float64) {
	t.Helper()
	for _, plane := range planes {
		text, err := fetch(t.Context(), plane+"metrics")
		if err != nil {
			t.Fatal(err)
		}
		sum += metric(text, name, "") - metric(text, name, scopes)
	}
	return sum
}

// sidecars returns the admin address of each sidecar by pod name.
func sidecars(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pod := range podsOf(t, "colors", "") {
		out[pod.Name] = hostPort(pod.Status.PodIP, 9901)
	}
	return out
}

// stats returns the Envoy statistics whose names match a regular expression.
func stats(ctx context.Context, sidecar, filter string) (map[string]int, error) {
	text, err := fetch(ctx, sidecar+"stats?filter="+filter)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			if out[name], err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		}
	}
	return out, nil
}

// updateStats returns the statistics of configuration updates of each Envoy, including endpoints and routes.
func updateStats(t *testing.T, sidecars map[string]string) map[string]int {
	t.Helper()
	const changes = "config_reload|cluster_added|cluster_modified|cluster_removed|cluster_updated|listener_added|listener_modified|listener_removed|listener_in_place_updated|update_success|update_rejected"
	all, endpoints := map[string]int{}, false
	for pod, address := range sidecars {
		figures, err := stats(t.Context(), address, "("+changes+")$")
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range figures {
			// update_success of a cluster counts xDS updates only for EDS clusters, and DNS resolutions otherwise.
			dns := strings.HasPrefix(name, "cluster.") && !strings.Contains(name, "_pool_")
			// The counters of these two types include empty responses.
			empty := name == "cluster_manager.cds.update_success" || name == "listener_manager.lds.update_success"
			if !dns && !empty && !strings.Contains(name, ".scoped_rds.") {
				all[pod+" "+name] = n
				endpoints = endpoints || strings.HasPrefix(name, "cluster.") && n > 0
			}
		}
	}
	if len(all) < 10*len(sidecars) || !endpoints {
		t.Fatalf("too few Envoy statistics: %v", all)
	}
	return all
}

func checkUnchanged(t *testing.T, before, after map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != before[name] {
			t.Errorf("%s changed from %d to %d", name, before[name], after[name])
		}
	}
}

// controlPlanePIDs returns the process IDs of all control planes on the node.
func controlPlanePIDs(t *testing.T) []string {
	t.Helper()
	// The brackets keep grep from matching its own process.
	return strings.Fields(mustOnNode(t, "sh", "-c",
		`grep -lxzs -e '--mesh-config=[/].*' /proc/[0-9]*/cmdline | cut -d/ -f3`))
}

func signal(t *testing.T, name string, processes ...string) {
	t.Helper()
	if len(processes) == 0 {
		t.Fatalf("no process to send %s to", name)
	}
	mustOnNode(t, append([]string{"sh", "-c", `kill -s "$0" "$@"`, name}, processes...)...)
}

// checkDuring runs check repeatedly for a duration that a documented limit defines.
func checkDuring(t *testing.T, d time.Duration, check func() error) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		if err := check(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkNoListener checks that no process listens at an address in the network of the node.
func checkNoListener(ctx context.Context, host string, port int) error {
	const connect = `import errno, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
    print("it accepts connections")
except OSError as e:
    print("refused" if e.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH) else e)`
	out, err := onNode(ctx, "python3", "-c", connect, host, strconv.Itoa(port))
	if err == nil && strings.TrimSpace(out) != "refused" {
		err = errors.New(out)
	}
	return err
}

// partition drops all packets between a pod and the control planes, or rejects them with the given verdict, until
// heal is called.
func partition(t *testing.T, podIP, verdict string) (heal func()) {
	t.Helper()
	family := "ip"
	if strings.Contains(podIP, ":") {
		family = "ip6"
	}
	table := "outage_" + strings.NewReplacer(".", "_", ":", "_").Replace(podIP)
	const ports = "{ 15128, 15010 }"
	mustOnNode(t, "nft",
		fmt.Sprintf(`add table inet %s; add chain inet %s cut { type filter hook forward priority -10; };`+
			`add rule inet %s cut %s saddr %s tcp dport %s counter %s; add rule inet %s cut %s daddr %s tcp sport %s counter %s`,
			table, table, table, family, podIP, ports, verdict, table, family, podIP, ports, verdict))
	healed := false
	heal = func() {
		if healed {
			return
		}
		healed = true
		out, _ := onNode(contextOf(t), "nft", "list", "table", "inet", table)
		if !strings.Contains(out, "counter packets") || strings.Count(out, "counter packets 0 ") == 2 {
			t.Errorf("no packet was dropped:\n%s", out)
		}
		if _, err := onNode(contextOf(t), "nft", "delete", "table", "inet", table); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(heal)
	return heal
}

// waitForVersion waits until all calls of a pod reach one version.
func waitForVersion(t *testing.T, caller, version string, within time.Duration) {
	t.Helper()
	began := time.Now()
	eventually(t, within, caller+" reaches "+version, func() error {
		const calls = 20
		if got := callsFrom(t, caller, colorURL, calls); got[version] != calls {
			return fmt.Errorf("got %v", got)
		}
		return nil
	})
	t.Logf("%s reaches %s after %v", caller, version, time.Since(began).Round(100*time.Millisecond))
}
