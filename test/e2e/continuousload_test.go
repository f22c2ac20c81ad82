package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// steadyRate is the number of calls per second that front makes during the tests.
const steadyRate = 100

// underSteadyLoad makes front call color while change runs. Every call must be answered by red or blue.
func underSteadyLoad(t *testing.T, change func()) {
	t.Helper()
	steadyCalls{"colors", "front", []string{colorURL}, []string{"red", "blue"}}.during(t, change)
}

// steadyCalls are calls of the pods behind a Service to URLs. Every call must be answered by one of the versions.
type steadyCalls struct {
	namespace, service string
	urls, versions     []string
}

// during makes the calls while change runs.
func (s steadyCalls) during(t *testing.T, change func()) {
	t.Helper()
	client := lab.kube.CoreV1().RESTClient()
	path := []string{"namespaces", s.namespace, "services", s.service + ":8080", "proxy", "steady"}
	start := client.Put().AbsPath(append([]string{"api", "v1"}, path...)...).Param("rate", fmt.Sprint(steadyRate))
	for _, u := range s.urls {
		start = start.Param("url", u)
	}
	if _, err := start.DoRaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	stop := func(ctx context.Context) (counts map[string]int, err error) {
		raw, err := client.Delete().AbsPath(append([]string{"api", "v1"}, path...)...).DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		return counts, json.Unmarshal(raw, &counts)
	}
	stopped := false
	defer func() {
		if !stopped { // change failed
			_, _ = stop(contextOf(t))
		}
	}()
	change()
	stopped = true
	counts, err := stop(contextOf(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v under load: %v", time.Since(began).Round(time.Second), counts)
	answered := 0
	for outcome, n := range counts {
		if answered += n; !slices.Contains(s.versions, outcome) {
			t.Errorf("%d calls: %s", n, outcome)
		}
	}
	if answered < steadyRate {
		t.Errorf("too few calls: %v", counts)
	}
}
