package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attackOf is a running attack.
type attackOf struct {
	done chan struct{}
	out  string
	err  error
	// evaluated counts the largest reviews that were evaluated; check sets it.
	evaluated int
}

// startAttack attacks a sidecar and a control plane from the pods outside the mesh.
func startAttack(t *testing.T, sidecar, control corev1.Pod, flags ...string) *attackOf {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "test", "attacker", "from-pods.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var from []string
	for _, p := range podsOf(t, "outside", "app=attacker") {
		from = append(from, p.Status.PodIP)
	}
	args := append([]string{script, strings.Join(from, ","), filepath.Join(lab.bin, "attacker"), "--control", addresses(control),
		"--sidecar", addresses(sidecar), "--workload", "colors/tally"}, flags...)
	a := &attackOf{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.out, a.err = onNode(t.Context(), args...)
	}()
	t.Cleanup(func() { <-a.done })
	return a
}

func addresses(p corev1.Pod) string {
	var all []string
	for _, ip := range p.Status.PodIPs {
		all = append(all, ip.IP)
	}
	return strings.Join(all, ",")
}

// check waits for the end of the attack, and checks that it took place.
func (a *attackOf) check(t *testing.T) {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	t.Logf("attackers: %s", a.out)
	type counts struct{ Attempts, Connected, Answered int }
	kinds := map[string]counts{} // of both attackers
	for attackers := json.NewDecoder(strings.NewReader(a.out)); ; {
		var one map[string]counts
		err := attackers.Decode(&one)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for kind, c := range one {
			sum := kinds[kind]
			kinds[kind] = counts{sum.Attempts + c.Attempts, sum.Connected + c.Connected, sum.Answered + c.Answered}
		}
	}
	for kind, c := range kinds {
		if c.Attempts == 0 {
			t.Errorf("%s made no attempt", kind)
		}
		switch connects := c.Connected > 0; {
		case kind == "proxy-port" && connects:
			t.Errorf("%d connections to the ports of the proxy, want none", c.Connected)
		case kind != "proxy-port" && !connects:
			t.Errorf("%s made no connection: the attack did not take place", kind)
		}
		if slices.Contains([]string{"admin-path", "old-tls", "large-review", "certificate"}, kind) && c.Answered > 0 {
			t.Errorf("%d attempts of %s succeeded, want none", c.Answered, kind)
		}
	}
	a.evaluated = kinds["largest-review"].Answered + kinds["many-values"].Answered
}

// unfinishedOfAttack is how many bytes of unfinished messages the attack reaches at least. MaxUnfinished is 24 MiB, of
// which long messages get three quarters.
const unfinishedOfAttack = 16 << 20

// waitUnfinished waits until the unfinished messages of the attack reach their limit.
func (a *attackOf) waitUnfinished(t *testing.T, planes []string) {
	t.Helper()
	for most := 0.0; most < unfinishedOfAttack; {
		select {
		case <-a.done:
			t.Fatalf("the attack ended with at most %.0f bytes of unfinished messages, want %d (%v)\n%s", most, unfinishedOfAttack, a.err, a.out)
		case <-time.After(100 * time.Millisecond):
		}
		if n, err := sumMetric(t.Context(), planes, "anymesh_xds_unfinished_bytes", ""); err == nil {
			most = max(most, n)
		}
	}
}

// checkAttackIsCounted checks that metrics show the attack.
func checkAttackIsCounted(t *testing.T, planes []string) {
	t.Helper()
	for _, m := range []struct{ name, label string }{
		{"anymesh_webhook_requests_total", `sender="other"`},
		{"anymesh_webhook_refused_total", `reason="cut_off"`},
		{"anymesh_webhook_refused_total", `reason="too_large"`},
		{"anymesh_webhook_refused_total", `reason="busy"`},
		{"anymesh_http_connection_errors_total", `server="webhooks"`},
		{"anymesh_http_refused_connections_total", `server="webhooks"`},
		{"anymesh_xds_refused_total", `reason="handshakes_per_source"`},
		{"anymesh_xds_refused_total", `reason="connections_per_certificate"`},
		{"anymesh_xds_refused_total", `reason="unfinished_messages"`},
	} {
		if n, err := sumMetric(t.Context(), planes, m.name, m.label); err != nil || n == 0 {
			t.Errorf("metric %s{%s} is %v, want the attack in it (%v)", m.name, m.label, n, err)
		}
	}
}

// logKind is what tells the kind of a line in the log that reports a problem. Servers have lines of their own.
var logKind = regexp.MustCompile(`level=(?:WARN|ERROR) msg=("(?:[^"\\]|\\.)*"|\S+)(?: server=(\S+))?`)

// checkLogIsShort checks that a control plane has logged at most one problem of a kind in each minute.
func checkLogIsShort(t *testing.T, pod string, since metav1.Time) {
	t.Helper()
	most := 1 + int(time.Since(since.Time)/time.Minute)
	log := run(t, "-n", "anymesh-system", "logs", pod, "--since-time", since.UTC().Format(time.RFC3339))
	kinds := map[string][]string{}
	for line := range strings.Lines(log) {
		if m := logKind.FindStringSubmatch(line); m != nil {
			kind := m[1] + " " + m[2]
			kinds[kind] = append(kinds[kind], line)
		}
	}
	for kind, lines := range kinds {
		t.Logf("%d lines %s: %s", len(lines), kind, lines[0])
		if len(lines) > most {
			t.Errorf("%d lines %s in %v, want at most one a minute", len(lines), kind, time.Since(since.Time))
		}
	}
}
