package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// explainedAnswer is the part of the output of anymesh explain that traffic shows.
type explainedAnswer struct {
	text     string
	Failure  *explainedFailure
	Decision struct {
		Outcome, Route string
		Retry          struct {
			Retries     int
			StatusCodes []int
		}
	}
	Targets []struct {
		Share     float64
		Failure   *explainedFailure
		Receivers []explainedReceiver
	}
}

type explainedReceiver struct {
	Workload struct{ Name string }
	Service  string
	Share    float64
	Failure  *explainedFailure
	Limits   struct {
		Unanswered string
		Attempts   int
	}
}

type explainedFailure struct {
	Status int
	Error  string
}

func (f explainedFailure) String() string {
	if f.Status != 0 {
		return fmt.Sprintf("status %d", f.Status)
	}
	return f.Error
}

// responders maps what a client can get to its share: the name of a server, or a failure.
func (a explainedAnswer) responders() map[string]float64 {
	if a.Failure != nil {
		return map[string]float64{a.Failure.String(): 1}
	}
	out := map[string]float64{}
	for _, t := range a.Targets {
		if t.Failure != nil {
			out[t.Failure.String()] += t.Share
			continue
		}
		for _, r := range t.Receivers {
			out[r.responder()] += t.Share * r.Share
		}
	}
	maps.DeleteFunc(out, func(_ string, share float64) bool { return share == 0 })
	return out
}

func (r explainedReceiver) responder() string {
	switch {
	case r.Failure != nil:
		return r.Failure.String()
	case r.Workload.Name != "":
		return strings.TrimSuffix(r.Workload.Name, "_explained")
	}
	_, name, _ := strings.Cut(r.Service, "/") // servers have the name of their Service
	return name
}

// responderOf returns who responded, or what the client got in place of a response.
func responderOf(o outcome) string {
	_, greeting, greeted := strings.Cut(o.Error, "malformed HTTP response \"") // of a TCP server
	switch {
	case greeted:
		return strings.TrimSuffix(greeting, "\"")
	case strings.Contains(o.Error, "no such host"):
		return "unknown host"
	case strings.Contains(o.Error, `"HTTP/1.1 400 Bad Request`):
		return "status 400" // in place of the greeting of a TCP server
	case strings.Contains(o.Error, "tls: "), strings.Contains(o.Error, "HTTP response to HTTPS client"):
		return "TLS error"
	case strings.HasSuffix(o.Error, "EOF"), strings.Contains(o.Error, "reset by peer"),
		// The connection may end before the client has sent the request.
		strings.Contains(o.Error, "server closed idle connection"), strings.Contains(o.Error, "broken pipe"):
		return "connection reset"
	case o.Error != "":
		return o.Error
	case o.Version == "":
		return fmt.Sprintf("status %d", o.Status)
	}
	return o.Version
}

// endsAfter is the time after which a request to the first receiver ends without a response; 0 means never.
func (a explainedAnswer) endsAfter() time.Duration {
	if len(a.Targets) == 0 || len(a.Targets[0].Receivers) == 0 {
		return 0
	}
	d, _ := time.ParseDuration(a.Targets[0].Receivers[0].Limits.Unanswered)
	return d
}

// compare returns the difference between the answer and what happened, with the number of attempts that were counted.
func (a explainedAnswer) compare(r explainedRequest, o timedOutcome, attempts int) error {
	want, limit := a.responders(), time.Duration(0)
	wantAttempts, responds := 1, true
	if slices.Contains(a.Decision.Retry.StatusCodes, r.status) {
		wantAttempts += a.Decision.Retry.Retries
	}
	if r.delay > 0 {
		limit = a.endsAfter()
		if limit > 0 && r.delay > limit {
			ending := "status 504"
			if strings.HasPrefix(r.url, "tcp:") {
				ending = "connection reset"
			}
			want, wantAttempts, responds = map[string]float64{ending: 1}, a.Targets[0].Receivers[0].Limits.Attempts, false
		}
	}
	switch {
	case a.Decision.Outcome == "PassedThrough" && a.Failure == nil:
		want = map[string]float64{r.original: 1}
	case r.withoutTLS && a.Failure == nil:
		want = map[string]float64{"TLS error": 1}
	}
	got := responderOf(o.outcome)
	if _, is := want[got]; !is {
		return fmt.Errorf("%q responds, want one of %v: %+v", got, slices.Sorted(maps.Keys(want)), o)
	}
	if r.status != 0 && o.Version != "" && o.Status != r.status {
		return fmt.Errorf("status %d, want %d", o.Status, r.status)
	}
	if r.counted && attempts != wantAttempts {
		return fmt.Errorf("%d attempts, want %d", attempts, wantAttempts)
	}
	if took := o.took(); !responds && (took < limit/2 || took > 2*limit+2*time.Second) {
		return fmt.Errorf("the request ends after %s, want about %s", took, limit)
	}
	return nil
}

// shared reports responders that get none of many requests of a route. The probability of this by chance is e^-14.
func shared(requests []explainedRequest, answers []explainedAnswer, outcomes []timedOutcome) error {
	expected, got := map[string]float64{}, map[string]int{}
	for i, a := range answers {
		if requests[i].withoutTLS || requests[i].delay > 0 {
			continue // does not tell who gets the request
		}
		for responder, share := range a.responders() {
			expected[a.Decision.Route+": "+responder] += share
		}
		got[a.Decision.Route+": "+responderOf(outcomes[i].outcome)]++
	}
	for which, n := range expected {
		if n >= 14 && got[which] == 0 {
			return fmt.Errorf("%s: no response, want about %.0f", which, n)
		}
	}
	return nil
}
