package aggregate

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/test/poll"
)

// TestListsNameStaleClusters guards against objects of the past that look current.
func TestListsNameStaleClusters(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	if _, header, _ := l.do("jane", http.MethodGet, podsPath, "", ""); header.Get("Warning") != "" {
		t.Errorf("warning %q", header.Get("Warning"))
	}
	since := time.Now().UTC().Truncate(time.Second)
	l.members[1].Set(membertest.Faults{Unreachable: true})
	poll.Until(t, "the warning", func() bool {
		_, header, answer := l.do("jane", http.MethodGet, podsPath, "", "")
		_, text, warned := strings.Cut(header.Get("Warning"), "the objects of cluster c2 are those of ")
		if !warned {
			return false
		}
		at, err := time.Parse(time.RFC3339, strings.TrimSuffix(strings.Fields(text)[0], ","))
		if err != nil || at.Before(since) || !strings.Contains(answer, `"name":"q"`) {
			t.Fatalf("%q, since %v, %v: %s", text, since, err, answer)
		}
		return true
	})
	for _, query := range []string{"?cluster=c1", "?cluster=c2"} {
		_, header, _ := l.do("jane", http.MethodGet, podsPath+query, "", "")
		if got := strings.Contains(header.Get("Warning"), "c2"); got != (query == "?cluster=c2") {
			t.Errorf("%s: warning %q", query, header.Get("Warning"))
		}
	}
}

// TestClustersThatAreAwayGetNoWrites guards clients against the wait for a cluster of which it is known that it does
// not answer.
func TestClustersThatAreAwayGetNoWrites(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	next := *l.view.Load()
	next.members = slices.Clone(next.members)
	next.members[0].Ready, next.members[0].Away = false, "dial tcp 10.0.0.1:6443: i/o timeout"
	next.members[0].AwaySince = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	l.view.Store(&next)
	const want = "cluster c1 does not answer since 2026-10-01T12:00:00Z: dial tcp 10.0.0.1:6443: i/o timeout"
	l.wants(http.StatusServiceUnavailable, want, http.MethodDelete, podsPath+"/p", "", "")
	l.wants(http.StatusServiceUnavailable, want, http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{}`)
	l.wants(http.StatusServiceUnavailable, want, http.MethodGet, podsPath+"/p/log", "", "")
	l.wants(http.StatusOK, "log of q", http.MethodGet, podsPath+"/q/log", "", "")
	l.wants(http.StatusServiceUnavailable, want, http.MethodDelete, podsPath, "", "")
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("the cluster that is away got %d requests", n)
	}
}

// TestNamesWithPorts guards requests for a port of a pod or Service: the name of the object is a part of that in the
// path.
func TestNamesWithPorts(t *testing.T) {
	l := newLab(t, 2)
	l.put(1, "p")
	for _, name := range []string{"p", "p:8080", "http:p:8080", "https:p:web"} {
		l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/"+name+"/proxy/metrics", "", "")
		if r := last(t, l.members[1]); r.Path != podsPath+"/"+name+"/proxy/metrics" {
			t.Errorf("%s: the member gets %s", name, r.Path)
		}
	}
	l.wants(http.StatusNotFound, "", http.MethodGet, podsPath+"/q:8080/proxy/metrics", "", "")
	l.wants(http.StatusNotFound, "", http.MethodGet, podsPath+"/p:8080/log", "", "")
}
