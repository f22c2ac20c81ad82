package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExplainIsWhatTrafficDoes compares what "anymesh explain" says about generated requests with what happens to them.
// ANYMESH_EXPLAIN_SEED repeats a run.
func TestExplainIsWhatTrafficDoes(t *testing.T) {
	seed := environment("ANYMESH_EXPLAIN_SEED", uint64(time.Now().UnixNano()))
	t.Logf("ANYMESH_EXPLAIN_SEED=%d", seed)
	apply(t, explainedManifests())
	for _, name := range []string{"red", "blue", "left", "right", "outside", "client"} {
		waitReady(t, "explained", "deployment/"+name)
	}
	waitForExplained(t)
	cluster := explainedCluster{run(t, "-n", "explained", "get", "service", "outside", "-o", "jsonpath={.spec.clusterIP}")}
	t.Run("DROP_ALL", func(t *testing.T) { compareSorts(t, seed, cluster.denied()) })
	t.Cleanup(func() { patchMesh(t, "DROP_ALL") }) // also if the test fails
	patchMesh(t, "ALLOW_ALL")
	waitForResponses(t, []explainedRequest{
		{method: "GET", url: "http://outside.explained:8080/"}, {url: "tcp://red:9000"}, {method: "GET", url: "http://red:8081/"},
	})
	t.Run("ALLOW_ALL", func(t *testing.T) { compareSorts(t, seed, cluster.allowed()) })
	patchMesh(t, "DROP_ALL")
	eventually(t, 20*time.Second, "undeclared ports are refused again", func() error {
		outcomes, err := sendExplained(t.Context(), []explainedRequest{{method: "GET", url: "http://red:8081/"}})
		if err == nil && outcomes[0].Error == "" {
			err = fmt.Errorf("%+v", outcomes[0])
		}
		return err
	})
}

// compareSorts compares requests of all sorts, each with random numbers of its own.
func compareSorts(t *testing.T, seed uint64, sorts []explainedSort) {
	for i, sort := range sorts {
		t.Run(sort.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			var requests []explainedRequest
			for n := range sort.requests {
				requests = append(requests, sort.generate(random, n))
			}
			compareExplained(t, requests, sort.check)
		})
	}
}

// explainedRequest is a generated request, and what the application does with it.
type explainedRequest struct {
	method, url string
	headers     []string // name:value
	// status is that of the response of the application; delay is the time until then.
	status int
	delay  time.Duration
	// counted is true if the path is of this request only, so that the application counts the attempts.
	counted bool
	// original is who responds at the original destination, or what the client gets from there.
	original string
	// withoutTLS is true if the client uses TLS, and the application does not.
	withoutTLS bool
}

// line is the request in the form of anymesh explain --requests.
func (r explainedRequest) line() string {
	return strings.Join(append([]string{r.method, r.url}, r.headers...), " ")
}

// listedCall is the request in the form of the list of calls of a client.
type listedCall struct {
	Method string            `json:"method,omitempty"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
}

func (r explainedRequest) call() listedCall {
	out := listedCall{Method: r.method, URL: r.url, Header: map[string]string{}}
	for _, h := range r.headers {
		name, value, _ := strings.Cut(h, ":")
		out.Header[name] = value
	}
	return out
}

// timedOutcome is the outcome of a listed call.
type timedOutcome struct {
	outcome
	Seconds float64
}

func (o timedOutcome) took() time.Duration { return time.Duration(o.Seconds * float64(time.Second)) }

// compareExplained explains and sends all requests, and reports differences.
func compareExplained(t *testing.T, requests []explainedRequest, check func([]explainedAnswer) error) {
	t.Helper()
	answers, err := explainRequests(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := sendExplained(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	counts := countAttempts(t, requests)
	for i, r := range requests {
		err := answers[i].compare(r, outcomes[i], counts[i])
		if err != nil && r.delay > 0 {
			t.Logf("%s: %v; sent once more, because the result depends on time", r.line(), err)
			err = compareAlone(t, r, answers[i])
		}
		if err != nil {
			t.Errorf("%s\n%v\nexplained: %s", r.line(), err, answers[i].text)
		}
	}
	if err := errors.Join(check(answers), shared(requests, answers, outcomes)); err != nil {
		t.Error(err)
	}
	seen := map[string]int{}
	for _, o := range outcomes {
		seen[responderOf(o.outcome)]++
	}
	t.Logf("%d requests: %v", len(requests), seen)
}

// compareAlone sends a request again, after all others, and compares what happens with the answer.
func compareAlone(t *testing.T, r explainedRequest, a explainedAnswer) error {
	t.Helper()
	if r.counted {
		r.url += "-again"
	}
	outcomes, err := sendExplained(t.Context(), []explainedRequest{r})
	if err != nil {
		return err
	}
	return a.compare(r, outcomes[0], countAttempts(t, []explainedRequest{r})[0])
}

// explainRequests runs anymesh explain once for all requests.
func explainRequests(ctx context.Context, requests []explainedRequest) ([]explainedAnswer, error) {
	var lines strings.Builder
	for _, r := range requests {
		lines.WriteString(r.line() + "\n")
	}
	out, err := command(ctx, lines.String(), filepath.Join(lab.bin, "anymesh"), "explain", "--kubeconfig", lab.kubeconfig,
		"--from", "explained/client", "--requests", "-", "-o", "json")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: a request does not reach a destination
		return nil, err
	}
	var texts []json.RawMessage
	if err := json.Unmarshal([]byte(out), &texts); err != nil || len(texts) != len(requests) {
		return nil, fmt.Errorf("%d answers for %d requests: %w", len(texts), len(requests), err)
	}
	answers := make([]explainedAnswer, len(texts))
	for i, text := range texts {
		answers[i].text = string(text)
		if err := json.Unmarshal(text, &answers[i]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// sendExplained makes the client send all requests.
func sendExplained(ctx context.Context, requests []explainedRequest) ([]timedOutcome, error) {
	var calls []listedCall
	for _, r := range requests {
		calls = append(calls, r.call())
	}
	body, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	raw, err := lab.kube.CoreV1().RESTClient().Post().Namespace("explained").Resource("services").Name("client:8080").
		SubResource("proxy").Suffix("calls").Body(body).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("POST /calls: %w: %s", err, raw)
	}
	var out []timedOutcome
	if err := json.Unmarshal(raw, &out); err != nil || len(out) != len(requests) {
		return nil, fmt.Errorf("%d outcomes for %d requests: %w", len(out), len(requests), err)
	}
	return out, nil
}

// countAttempts asks the application for the number of attempts of each request that it counts.
func countAttempts(t *testing.T, requests []explainedRequest) []int {
	t.Helper()
	counts := make([]int, len(requests))
	var asked []explainedRequest
	for _, r := range requests {
		if r.counted {
			scheme, rest, _ := strings.Cut(r.url, "://")
			host, path, _ := strings.Cut(rest, "/")
			r.url = scheme + "://" + host + "/count/" + path
			asked = append(asked, r)
		}
	}
	if len(asked) == 0 {
		return counts
	}
	outcomes, err := sendExplained(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		if !requests[i].counted {
			continue
		}
		var said struct{ Count int }
		if err := json.Unmarshal([]byte(outcomes[0].Body), &said); err != nil {
			t.Errorf("%s: %v: %+v", requests[i].line(), err, outcomes[0])
		}
		counts[i], outcomes = said.Count, outcomes[1:]
	}
	return counts
}

// waitForExplained waits until the sidecar of the client has all services.
func waitForExplained(t *testing.T) {
	t.Helper()
	var all []explainedRequest
	for _, path := range []string{"red", "b1/", "pool", "outside"} {
		all = append(all, explainedRequest{method: "GET", url: "http://app.explained.example:8080/" + path})
	}
	for _, name := range []string{"retry", "slow", "sealed", "named"} {
		all = append(all, explainedRequest{method: "GET", url: "http://" + name + ".explained.example:8080/", headers: []string{"x-policy:long", "x-port:8080"}})
	}
	for _, name := range []string{"stream", "pair", "brief", "patient"} {
		all = append(all, explainedRequest{url: "tcp://" + name + ".explained.example:9000"})
	}
	waitForResponses(t, all)
}

// waitForResponses waits until servers respond to all requests.
func waitForResponses(t *testing.T, all []explainedRequest) {
	t.Helper()
	eventually(t, 30*time.Second, "all services respond", func() error {
		outcomes, err := sendExplained(t.Context(), all)
		if err != nil {
			return err
		}
		for i, o := range outcomes {
			if o.Version == "" {
				return fmt.Errorf("%s: %+v", all[i].url, o)
			}
		}
		return nil
	})
}

// atLeast checks that enough answers have a property.
func atLeast(n int, what string, has func(explainedAnswer) bool) func([]explainedAnswer) error {
	return func(answers []explainedAnswer) error {
		found := slices.DeleteFunc(slices.Clone(answers), func(a explainedAnswer) bool { return !has(a) })
		if len(found) < n {
			return fmt.Errorf("%d of %d requests are %s, want %d at least", len(found), len(answers), what, n)
		}
		return nil
	}
}
