package aggregate

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// TestInnerRequestsAreAuthorized guards against a request that is authorized only as a request for the proxy.
func TestInnerRequestsAreAuthorized(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	var mutex sync.Mutex
	var asked []string
	l.allow = func(what string) bool {
		mutex.Lock()
		defer mutex.Unlock()
		asked = append(asked, what)
		return false
	}
	for _, c := range []struct{ method, path, contentType, want string }{
		{http.MethodGet, podsPath, "", "jane list pods "},
		{http.MethodGet, podsPath + "?watch=true", "", "jane watch pods "},
		{http.MethodGet, podsPath + "/p", "", "jane get pods p"},
		{http.MethodGet, podsPath + "/p/log", "", "jane get pods p"},
		{http.MethodPut, podsPath + "/p", rewrite.JSON, "jane update pods p"},
		{http.MethodPatch, podsPath + "/p", rewrite.MergePatch, "jane patch pods p"},
		{http.MethodDelete, podsPath + "/p", "", "jane delete pods p"},
		{http.MethodDelete, podsPath, "", "jane deletecollection pods "},
		{http.MethodPost, podsPath + "/p/exec", "", "jane create pods p"},
		{http.MethodPost, podsPath + "/p/eviction", rewrite.JSON, "jane create pods p"},
	} {
		for _, prefix := range []string{"", prefix + "/proxying", prefix + "/proxying/any/proxy"} {
			asked = nil
			code, _, answer := l.do("jane", c.method, prefix+c.path, c.contentType, `{}`)
			if code != http.StatusForbidden || !slices.Equal(asked, []string{c.want}) {
				t.Errorf("%s %s: got %d, asked for %q, want %q: %s", c.method, prefix+c.path, code, asked, c.want, answer)
			}
		}
	}
	if n := len(l.members[0].Requests()) + len(l.control.Requests()); n > 0 {
		t.Errorf("the API servers got %d requests", n)
	}
}

// TestAuthorizeClusters shows a team that may use two of three clusters.
func TestAuthorizeClusters(t *testing.T) {
	l := newLab(t, 3)
	for i, name := range []string{"p", "q", "r"} {
		l.put(i, name)
	}
	l.put(2, "p")
	l.config.AuthorizeClusters = true
	l.allow = func(what string) bool { return what != "jane access clusters c3" }
	answer := l.wants(http.StatusOK, `"name":"q"`, http.MethodGet, "/api/v1/pods", "", "")
	v, err := version.Parse(decoded(t, answer).ResourceVersion)
	if strings.Contains(answer, `"name":"r"`) || len(v.Components) != 2 {
		t.Errorf("the list has cluster c3: %s, %v", answer, err)
	}
	next := l.watch("resourceVersion=" + decoded(t, answer).ResourceVersion)
	l.put(2, "s")
	l.put(0, "t")
	if kind, metadata, _ := next(); kind != "ADDED" || metadata.Name != "t" {
		t.Errorf("the watch gets %s %s", kind, metadata.Name)
	}
	l.wants(http.StatusNotFound, "", http.MethodGet, podsPath+"/r", "", "")
	l.wants(http.StatusNotFound, "", http.MethodDelete, podsPath+"/r", "", "")
	l.wants(http.StatusNotFound, "", http.MethodGet, podsPath+"/r/log", "", "")
	l.wants(http.StatusForbidden, "clusters", http.MethodGet, podsPath+"/r?cluster=c3", "", "")
	code, header, answer := l.do("jane", http.MethodGet, podsPath+"/p", "", "")
	if code != http.StatusOK || header.Get("Warning") != "" {
		t.Errorf("the warning %q tells of cluster c3: %d %s", header.Get("Warning"), code, answer)
	}
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{"metadata":{"labels":{"x":"y"}}}`)
	l.wants(http.StatusOK, "", http.MethodDelete, podsPath, "", "")
	if n := len(l.members[2].Requests()); n > 0 {
		t.Errorf("cluster c3 got %d requests", n)
	}
	if _, _, answer := l.do("root", http.MethodGet, "/api/v1/pods", "", ""); !strings.Contains(answer, `"name":"r"`) {
		t.Errorf("another user lacks cluster c3: %s", answer)
	}
}
