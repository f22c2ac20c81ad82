package aggregate

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// watch opens a watch as user jane, and returns a function for the next event: its type, its metadata, and its code if
// it is a Status. The type is END at the end of the response, and BROKEN if the response has none.
func (l *lab) watch(query string) func() (string, metav1.ObjectMeta, int) {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+"/api/v1/pods?watch=true&"+query, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer jane")
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != http.StatusOK {
		l.t.Fatal(response.Status, err)
	}
	l.t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() (string, metav1.ObjectMeta, int) {
		if !lines.Scan() && lines.Err() != nil {
			return "BROKEN", metav1.ObjectMeta{}, 0
		} else if len(lines.Bytes()) == 0 {
			return "END", metav1.ObjectMeta{}, 0
		}
		var e struct {
			Type   string
			Object struct {
				Metadata metav1.ObjectMeta
				Code     int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			l.t.Fatalf("%v: %s", err, lines.Text())
		}
		return e.Type, e.Object.Metadata, e.Object.Code
	}
}

// listVersion returns the version of a list.
func (l *lab) listVersion() string {
	l.t.Helper()
	return decoded(l.t, l.wants(http.StatusOK, "PodList", http.MethodGet, "/api/v1/pods", "", "")).ResourceVersion
}

// TestParametersOfListsAndWatches guards the tables of resourceVersion and resourceVersionMatch. Clients fall back to
// lists only if the answer is an error.
func TestParametersOfListsAndWatches(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	v := l.listVersion()
	for query, code := range map[string]int{
		"": 200, "resourceVersion=": 200, "resourceVersion=0": 200, "resourceVersion=" + v: 200,
		"resourceVersion=" + v + "&resourceVersionMatch=Exact":                        200,
		"resourceVersion=" + v + "&resourceVersionMatch=NotOlderThan":                 200,
		"resourceVersionMatch=Exact":                                                  422,
		"resourceVersionMatch=NotOlderThan":                                           422,
		"resourceVersion=0&resourceVersionMatch=Exact":                                422,
		"resourceVersion=" + v + "&resourceVersionMatch=Newest":                       422,
		"resourceVersion=x":                                                           400,
		"resourceVersion=1234":                                                        410,
		"sendInitialEvents=true":                                                      422,
		"sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0": 422,
		"limit=-1":             400,
		"limit=x":              400,
		"continue=x":           400,
		"labelSelector=%3D%3D": 400,
		"fieldSelector=a":      400,
		"watch=true&timeoutSeconds=1&resourceVersionMatch=NotOlderThan&resourceVersion=" + v: 422,
		"watch=true&timeoutSeconds=1&sendInitialEvents=true":                                 422,
		"watch=true&timeoutSeconds=1&sendInitialEvents=x":                                    400,
		"watch=true&timeoutSeconds=1&allowWatchBookmarks=x":                                  400,
		"watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact":      422,
		"watch=true&timeoutSeconds=1&resourceVersion=x":                                      400,
		"watch=true&timeoutSeconds=1&resourceVersion=1234":                                   410,
		"watch=true&timeoutSeconds=x":                                                        400,
	} {
		if got, _, answer := l.do("jane", http.MethodGet, "/api/v1/pods?"+query, "", ""); got != code {
			t.Errorf("%s: got %d, want %d: %s", query, got, code, answer)
		}
	}
}

// TestFormsOfExpiry guards the two forms of 410: before the first event a response, later an event.
func TestFormsOfExpiry(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	v := l.listVersion()
	next := l.watch("resourceVersion=" + v)
	l.members = l.members[:1]
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	if kind, _, code := next(); kind != "ERROR" || code != http.StatusGone {
		t.Errorf("the open watch gets %s %d", kind, code)
	}
	if kind, _, _ := next(); kind != "END" {
		t.Errorf("after the error comes %s", kind)
	}
	l.wants(http.StatusGone, `"reason":"Expired"`, http.MethodGet, "/api/v1/pods?watch=true&resourceVersion="+v, "", "")
	future := version.New(version.Component{Cluster: "c1", Identity: version.Identity("uid-1"), Version: 1 << 40}).String()
	l.wants(http.StatusGatewayTimeout, "ResourceVersionTooLarge", http.MethodGet, "/api/v1/pods?resourceVersion="+future, "", "")
}

// TestBookmarksAreSentOnRequest guards clients that do not know bookmarks. A bookmark has a version and no annotation.
func TestBookmarksAreSentOnRequest(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	v := l.listVersion()
	with := l.watch("allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=" + v)
	without := l.watch("timeoutSeconds=1&resourceVersion=" + v)
	l.put(1, "q")
	for _, want := range []string{"ADDED", "BOOKMARK"} {
		kind, metadata, _ := with()
		if kind != want || kind == "BOOKMARK" && (len(metadata.Annotations) > 0 || metadata.ResourceVersion == "") {
			t.Fatalf("got %s %+v, want %s", kind, metadata, want)
		}
	}
	for _, want := range []string{"ADDED", "END"} { // timeoutSeconds ends it
		if kind, _, _ := without(); kind != want {
			t.Fatalf("got %s, want %s", kind, want)
		}
	}
}

// TestVersionsAreNotNumbers guards clients that compare versions: the comparison has to fail rather than to be wrong.
func TestVersionsAreNotNumbers(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	if n, err := resourceversion.CompareResourceVersion(l.listVersion(), "1000"); err == nil {
		t.Errorf("the comparison answers %d", n)
	}
}

// TestUnregisteredKindsGoToTheControlPlane guards Leases, which clients create and read again at once.
func TestUnregisteredKindsGoToTheControlPlane(t *testing.T) {
	l := newLab(t, 1)
	const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
	for _, prefix := range []string{"", prefix + "/proxying", prefix + "/proxying/all/proxy"} {
		l.wants(http.StatusOK, "", http.MethodPut, prefix+path, "application/json", `{"metadata":{"name":"l","namespace":"default"}}`)
		l.wants(http.StatusOK, `"name":"l"`, http.MethodGet, prefix+path, "", "")
		r := last(t, l.control)
		if r.Path != path || r.Header.Get("Impersonate-User") != "jane" || r.Header.Get("Authorization") != "Bearer aggregator" {
			t.Errorf("the control plane gets %s with %v", r.Path, r.Header)
		}
	}
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("the member got %d requests", n)
	}
}

// TestRegistriesChangeTheSideOfAKind guards informers against the objects of the control plane after a registry selects
// the kind, and of members after it does not.
func TestRegistriesChangeTheSideOfAKind(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	v := l.listVersion()
	cached := l.watch("resourceVersion=" + v)
	l.configure()
	if kind, _, code := cached(); kind != "ERROR" || code != http.StatusGone {
		t.Errorf("the watch of the cache gets %s %d", kind, code)
	}
	l.wants(http.StatusGone, "no longer cached", http.MethodGet, "/api/v1/pods?watch=true&resourceVersion="+v, "", "")
	l.wants(http.StatusGone, "no longer cached", http.MethodGet, "/api/v1/pods?resourceVersion="+v, "", "")
	passed := l.watch("resourceVersion=1000&timeoutSeconds=30")
	l.control.Put(podPath, membertest.Object{"metadata": membertest.Object{"name": "own", "namespace": "default"}})
	if kind, metadata, _ := passed(); kind != "ADDED" || metadata.Name != "own" {
		t.Errorf("the watch of the control plane gets %s %s", kind, metadata.Name)
	}
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	if kind, _, _ := passed(); kind != "END" && kind != "BROKEN" {
		t.Errorf("the watch of the control plane gets %s", kind)
	}
	l.wants(http.StatusGone, "list again", http.MethodGet, "/api/v1/pods?watch=true&resourceVersion=1001", "", "")
}

// TestRequestsWaitForTheRegistries guards clients of a replica that starts against the objects of the control plane.
func TestRequestsWaitForTheRegistries(t *testing.T) {
	l := newLab(t, 1)
	l.control.Put(podPath, membertest.Object{"metadata": membertest.Object{"name": "own", "namespace": "default"}})
	l.refreshed.Store(false)
	code, header, answer := l.do("jane", http.MethodGet, "/api/v1/pods", "", "")
	if code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("got %d, %v: %s", code, header, answer)
	}
}

// TestListsNameMissingClusters guards against silent omission.
func TestListsNameMissingClusters(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	away := membertest.New()
	t.Cleanup(away.Close)
	away.Set(membertest.Faults{Unreachable: true})
	l.members = append(l.members, away)
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	began := time.Now()
	code, header, answer := l.do("jane", http.MethodGet, "/api/v1/pods", "", "")
	if code != http.StatusOK || !strings.Contains(header.Get("Warning"), "clusters c2") || time.Since(began) > time.Second {
		t.Errorf("after %v %d, %v: %s", time.Since(began), code, header, answer)
	}
}

// TestHeadAndOptions guards the methods that are neither reads with a body nor writes.
func TestHeadAndOptions(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	if code, _, body := l.do("jane", http.MethodHead, podsPath+"/p", "", ""); code != http.StatusOK || body != "" {
		t.Errorf("HEAD: %d %s", code, body)
	}
	if code, _, body := l.do("jane", http.MethodOptions, podsPath+"/p", "", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("OPTIONS: %d %s", code, body)
	}
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("the member got %+v", l.members[0].Requests())
	}
}

// TestPagesEndWithTheClustersOfTheFirst guards against pages that leave out a cluster in silence.
func TestPagesEndWithTheClustersOfTheFirst(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	answer := l.wants(http.StatusOK, `"name":"p"`, http.MethodGet, "/api/v1/pods?limit=1", "", "")
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	token := url.QueryEscape(list.Continue)
	l.wants(http.StatusOK, `"name":"q"`, http.MethodGet, "/api/v1/pods?limit=1&continue="+token, "", "")
	l.members = l.members[:1]
	l.configure(searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"})
	l.wants(http.StatusGone, `"reason":"Expired"`, http.MethodGet, "/api/v1/pods?limit=1&continue="+token, "", "")
}
