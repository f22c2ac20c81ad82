package aggregate

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/connlimit"
)

// wantsRefused checks how many requests reached a limit.
func wantsRefused(t *testing.T, m *metrics, reason string, want float64) {
	t.Helper()
	if got := testutil.ToFloat64(m.refused.WithLabelValues(reason)); got != want {
		t.Errorf("%v requests are counted with reason %s, want %v", got, reason, want)
	}
}

func TestLimitsOfWritesAreCounted(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	t.Run("request_size", func(t *testing.T) {
		l.wants(http.StatusRequestEntityTooLarge, "", http.MethodPut, podsPath+"/p", rewrite.JSON,
			strings.Repeat(" ", MaxRequestSize+1))
		wantsRefused(t, l.metrics, reasonRequestSize, 1)
	})
	t.Run("patch_operations", func(t *testing.T) {
		operations := strings.Repeat(`{"op":"remove","path":"/x"},`, rewrite.MaxOperations)
		l.wants(http.StatusRequestEntityTooLarge, "10001", http.MethodPatch, podsPath+"/p", rewrite.JSONPatch,
			"["+operations+`{"op":"remove","path":"/x"}]`)
		wantsRefused(t, l.metrics, reasonPatchOperations, 1)
	})
	const update = `{"metadata":{"name":"p","namespace":"default"}}`
	t.Run("write_waits", func(t *testing.T) {
		l.wants(http.StatusOK, "", http.MethodPut, podsPath+"/p", rewrite.JSON, update)
		if n := testutil.ToFloat64(l.metrics.writeWaits.WithLabelValues("found")); n != 1 {
			t.Errorf("%v writes found their result in the cache", n)
		}
		l.members[0].Set(membertest.Faults{Delay: 2 * MaxWriteWait})
		l.wants(http.StatusOK, "", http.MethodPut, podsPath+"/p", rewrite.JSON, update)
		if n := testutil.ToFloat64(l.metrics.writeWaits.WithLabelValues("timeout")); n != 1 {
			t.Errorf("%v writes waited too long", n)
		}
		l.members[0].Set(membertest.Faults{})
	})
	t.Run("answer_size", func(t *testing.T) {
		l.members[0].SetDocument(podsPath+"/p", `"`+strings.Repeat("a", MaxAnswerSize)+`"`)
		l.wants(http.StatusServiceUnavailable, "16777216 bytes", http.MethodPut, podsPath+"/p", rewrite.JSON, update)
		wantsRefused(t, l.metrics, reasonAnswerSize, 1)
	})
	t.Run("write_timeout", func(t *testing.T) {
		l.writeTimeout = 50 * time.Millisecond
		l.members[0].Set(membertest.Faults{Silent: true})
		l.wants(http.StatusServiceUnavailable, "deadline", http.MethodPut, podsPath+"/p", rewrite.JSON, update)
		wantsRefused(t, l.metrics, reasonWriteTimeout, 1)
		l.members[0].Set(membertest.Faults{}) // or its server does not end
	})
}

// Each limit has a series that exists before the limit is reached, so that alerts see the first time.
func TestLimitsHaveMetrics(t *testing.T) {
	l := newLab(t, 1)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(append(l.metrics.collectors(), l.cache.Collector())...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range Limits() {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(limit.Metric) + `[ {]`).Match(text.Bytes()) {
			t.Errorf("limit %s: there is no series %s", limit.Name, limit.Metric)
		}
		if limit.Default == "0" || strings.HasPrefix(limit.Default, "0 ") || limit.Text == "" {
			t.Errorf("limit %+v", limit)
		}
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	s := &Server{metrics: newMetrics()}
	limiter := s.connections(1, 2)
	from := func(address string) bool {
		_, ok := limiter.Acquire(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))
		return ok
	}
	for _, step := range []struct {
		address string
		ok      bool
	}{
		{"192.0.2.1:1000", true}, {"192.0.2.1:1001", false}, {"[2001:db8::1]:1000", true}, {"192.0.2.2:1000", false},
		{"127.0.0.1:1000", true}, {"127.0.0.1:1001", true},
	} {
		if ok := from(step.address); ok != step.ok {
			t.Errorf("a connection from %s is accepted: %v, want %v", step.address, ok, step.ok)
		}
	}
	wantsRefused(t, s.metrics, string(connlimit.Source), 1)
	wantsRefused(t, s.metrics, string(connlimit.Total), 1)
}

// Requests whose tokens are verified have limits of their own: they take no slot from users that are known.
func TestAuthenticationsAreLimited(t *testing.T) {
	verifying, verified := make(chan struct{}), make(chan struct{})
	m := newMetrics()
	s := &Server{
		metrics: m, inFlight: newInFlight(0, 0, m), authentications: newAuthentications(1, 2, m),
		authenticator: authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			if mayHaveToken(r) {
				verifying <- struct{}{}
				<-verified
			}
			return nil, false, nil
		}),
	}
	request := func(from, token string) int {
		r, w := httptest.NewRequest(http.MethodGet, "/api", nil), httptest.NewRecorder()
		if r.RemoteAddr = from + ":1000"; token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		s.ServeHTTP(w, r)
		return w.Code
	}
	codes := make(chan int)
	for _, from := range []string{"192.0.2.1", "192.0.2.2", "127.0.0.1"} {
		go func() { codes <- request(from, "unknown") }()
		<-verifying
	}
	for _, c := range []struct {
		from, token string
		want        int
	}{
		{"192.0.2.1", "other", http.StatusTooManyRequests},
		{"192.0.2.3", "other", http.StatusTooManyRequests},
		{"192.0.2.1", "", http.StatusUnauthorized},
	} {
		if got := request(c.from, c.token); got != c.want {
			t.Errorf("from %s with token %q: got %d, want %d", c.from, c.token, got, c.want)
		}
	}
	close(verified)
	for range 3 {
		if got := <-codes; got != http.StatusUnauthorized {
			t.Errorf("got %d, want %d", got, http.StatusUnauthorized)
		}
	}
	wantsRefused(t, m, reasonAuthentications, 2)
}
