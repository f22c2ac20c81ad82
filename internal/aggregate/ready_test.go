package aggregate

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/fleet"
	"anymesh.dev/anymesh/test/poll"
)

// ready returns the answer of /readyz.
func (l *lab) ready() (int, string) {
	w := httptest.NewRecorder()
	l.readyz(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

// away makes the last member one that does not answer the probes of the fleet.
func (l *lab) away() {
	l.t.Helper()
	before := l.view.Load()
	members := append([]fleet.Member(nil), before.members...)
	members[len(members)-1].Ready = false
	if err := l.install(&view{members: members, selected: before.selected}); err != nil {
		l.t.Fatal(err)
	}
}

// TestReadinessWaitsForClustersThatAreAway guards a rolling update against replicas that lack the objects of a cluster,
// and a new installation against a cluster that never answers.
func TestReadinessWaitsForClustersThatAreAway(t *testing.T) {
	const grace = 400 * time.Millisecond
	l := newLabWith(t, 1, Config{StartGrace: grace})
	l.put(0, "p")
	l.members = append(l.members, membertest.New())
	t.Cleanup(l.members[1].Close)
	l.members[1].Set(membertest.Faults{Unreachable: true})
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	if code, text := l.ready(); code != http.StatusServiceUnavailable || !strings.Contains(text, "pods of cluster c2") {
		t.Errorf("with a cluster that answers, but did not list: %d %s", code, text)
	}
	l.away()
	if code, text := l.ready(); code != http.StatusServiceUnavailable || !strings.Contains(text, "not answer, until") {
		t.Errorf("%d %s", code, text)
	}
	code, header, answer := l.do("jane", http.MethodGet, podPath, "", "")
	if code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(answer, "cluster c2") {
		t.Errorf("list: %d %v %s", code, header, answer)
	}
	l.wants(http.StatusOK, `"name":"p"`, http.MethodGet, podPath+"?cluster=c1", "", "")
	l.wants(http.StatusServiceUnavailable, "cluster c2", http.MethodDelete, podsPath+"/q", "", "")
	poll.Until(t, "the end of the wait", func() bool { code, _ := l.ready(); return code == http.StatusOK })
	l.wants(http.StatusOK, `"name":"p"`, http.MethodGet, podPath, "", "")
}

// TestClustersThatJoinDisturbNoClient guards the Service against the loss of all replicas at the same time, and clients
// against a cluster that joins and does not answer.
func TestClustersThatJoinDisturbNoClient(t *testing.T) {
	l := newLabWith(t, 1, Config{StartGrace: time.Hour})
	if code, text := l.ready(); code != http.StatusOK {
		t.Fatal(code, text)
	}
	l.put(0, "p")
	l.members, l.late = append(l.members, membertest.New()), 1
	t.Cleanup(l.members[1].Close)
	l.members[1].Set(membertest.Faults{Unreachable: true})
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	if code, text := l.ready(); code != http.StatusOK {
		t.Error("with a cluster that answers, but did not list:", code, text)
	}
	l.away()
	if code, text := l.ready(); code != http.StatusOK {
		t.Error(code, text)
	}
	code, header, answer := l.do("jane", http.MethodGet, podPath, "", "")
	if code != http.StatusOK || !strings.Contains(header.Get("Warning"), "c2") || !strings.Contains(answer, `"name":"p"`) {
		t.Errorf("list: %d %v %s", code, header, answer)
	}
	l.wants(http.StatusNotFound, `"q"`, http.MethodDelete, podsPath+"/q", "", "")
}
