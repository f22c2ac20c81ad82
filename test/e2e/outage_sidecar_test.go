package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// testSidecarKilled checks that the agent of a client starts its killed Envoy again in the same container, and that all
// calls succeed from then on.
func testSidecarKilled(t *testing.T) {
	second := podOf(t, "colors", "app=second")
	pod := second.Name
	for _, c := range second.Status.InitContainerStatuses {
		if c.Name == "envoy" { // the agent starts no Envoy again that ran for less than 10 s
			eventually(t, 15*time.Second, "Envoy has run for a while", func() error {
				if ran := time.Since(c.State.Running.StartedAt.Time); ran < 12*time.Second {
					return fmt.Errorf("it has run for %v", ran)
				}
				return nil
			})
		}
	}
	killed := mustOnNode(t, "sh", "-c", `for p in /proc/[0-9]*; do
		[ "$(cat $p/comm)" = envoy ] && grep -qs "$0" $p/environ $p/cmdline && kill -KILL ${p#/proc/} && echo ${p#/proc/}
	done 2>/dev/null; true`, pod)
	if len(strings.Fields(killed)) != 1 {
		t.Fatalf("killed processes: %q", killed)
	}
	eventually(t, 30*time.Second, "the calls of a second succeed", func() error { return allAnswered(t) })
	log := run(t, "-n", "colors", "logs", pod, "-c", "envoy", "--tail=-1")
	if !hasLine(log, "the proxy was killed", "restarted=true") {
		t.Errorf("log:\n%s", log)
	}
	restarts := run(t, "-n", "colors", "get", "pod", pod, "-o", "jsonpath={..restartCount}")
	for _, n := range restarts {
		if n != '0' && n != ' ' {
			t.Errorf("restarts of the containers: %s", restarts)
			break
		}
	}
}

// allAnswered returns an error unless the next calls of second, at least ten to each service, are all answered.
func allAnswered(t *testing.T) error {
	_, err := secondCounts(t.Context(), "POST")
	enough := false
	for ; err == nil && !enough; time.Sleep(100 * time.Millisecond) {
		var seen map[string]map[string]int
		seen, err = secondCounts(t.Context(), "GET")
		enough = len(seen) > 0
		for service, outcomes := range seen {
			answered := 0
			for outcome, n := range outcomes {
				if strings.HasPrefix(outcome, "failed") {
					return fmt.Errorf("%s: %d calls %s", service, n, outcome)
				}
				answered += n
			}
			enough = enough && answered >= 10
		}
	}
	return err
}

// secondCounts returns what second counted of its calls since the last POST: service, outcome, number.
func secondCounts(ctx context.Context, verb string) (seen map[string]map[string]int, err error) {
	raw, err := lab.kube.CoreV1().RESTClient().Verb(verb).Namespace("colors").Resource("services").Name("second:8080").
		SubResource("proxy").Suffix("counts").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return seen, json.Unmarshal(raw, &seen)
}
