package aggregate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

const podsPath = "/api/v1/namespaces/default/pods"

// decoded returns the metadata of an object in an answer.
func decoded(t *testing.T, answer string) metav1.ObjectMeta {
	t.Helper()
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(answer), &o); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return o.ObjectMeta
}

// last returns the last request that a member got.
func last(t *testing.T, m *membertest.Member) membertest.Request {
	t.Helper()
	all := m.Requests()
	if len(all) == 0 {
		t.Fatal("the member got no request")
	}
	return all[len(all)-1]
}

// TestOptimisticWritesMapVersionsBothWays guards writes with a version: the owner gets its own one, and the answer can
// be sent again.
func TestOptimisticWritesMapVersionsBothWays(t *testing.T) {
	l := newLab(t, 2)
	l.put(1, "p")
	got := l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p", "", "")
	for range 3 { // each with the answer of the one before
		got = l.wants(http.StatusOK, "", http.MethodPut, podsPath+"/p", rewrite.JSON, got)
		m := decoded(t, got)
		v, err := version.Parse(m.ResourceVersion)
		if err != nil || v.Components[0].Cluster != "c2" || m.Annotations[cache.ClusterAnnotation] != "c2" {
			t.Fatalf("version %+v, annotations %v, %v", v, m.Annotations, err)
		}
	}
	body := string(last(t, l.members[1]).Body)
	if strings.Contains(body, cache.ClusterAnnotation) || strings.Contains(body, "eyJ") {
		t.Errorf("the member gets %s", body)
	}
	patch := `{"metadata":{"resourceVersion":"` + decoded(t, got).ResourceVersion + `","annotations":{"a":null}}}`
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, patch)
	l.wants(http.StatusConflict, "modified", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, patch)
	l.wants(http.StatusConflict, "modified", http.MethodPut, podsPath+"/p", rewrite.JSON, got)
	l.wants(http.StatusConflict, "preconditions", http.MethodDelete, podsPath+"/p", rewrite.JSON,
		`{"preconditions":{"resourceVersion":"`+decoded(t, got).ResourceVersion+`"}}`)
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("the other member got %d requests", n)
	}
}

// TestWritesWithoutTheOwnersVersionAreConflicts guards against an unconditional write of a client that has a version of
// another cluster, of a rebuilt one, or of a single API server.
func TestWritesWithoutTheOwnersVersionAreConflicts(t *testing.T) {
	l := newLab(t, 2)
	l.put(1, "p")
	for _, v := range []string{
		version.Object(version.Component{Cluster: "c1", Identity: version.Identity("uid-1"), Version: 1001}),
		version.Object(version.Component{Cluster: "c2", Identity: version.Identity("earlier"), Version: 1001}),
		"1001",
	} {
		for contentType, body := range map[string]string{
			rewrite.MergePatch: `{"metadata":{"resourceVersion":"` + v + `"}}`,
			rewrite.Apply:      "metadata: {resourceVersion: \"" + v + "\"}",
			rewrite.JSONPatch:  `[{"op":"test","path":"/metadata/resourceVersion","value":"` + v + `"}]`,
		} {
			l.wants(http.StatusConflict, "get the object again", http.MethodPatch, podsPath+"/p", contentType, body)
		}
		body := `{"metadata":{"name":"p","namespace":"default","resourceVersion":"` + v + `"}}`
		l.wants(http.StatusConflict, "get the object again", http.MethodPut, podsPath+"/p", rewrite.JSON, body)
		l.wants(http.StatusConflict, "get the object again", http.MethodDelete, podsPath+"/p", rewrite.JSON,
			`{"preconditions":{"resourceVersion":"`+v+`"}}`)
		l.wants(http.StatusConflict, "get the object again", http.MethodPost, podsPath+"/p/eviction", rewrite.JSON,
			`{"deleteOptions":{"preconditions":{"resourceVersion":"`+v+`"}}}`)
	}
	l.wants(http.StatusBadRequest, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{"metadata":{"resourceVersion":"x"}}`)
	if n := len(l.members[1].Requests()); n > 0 {
		t.Errorf("the owner got %d requests", n)
	}
}

// TestWritesNeverCreate guards against an object that is created because the cache still has it.
func TestWritesNeverCreate(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.wants(http.StatusMethodNotAllowed, "create", http.MethodPost, podsPath, rewrite.JSON, `{}`)
	l.wants(http.StatusNotFound, "", http.MethodPut, podsPath+"/none", rewrite.JSON, `{"metadata":{"name":"none"}}`)
	l.wants(http.StatusNotFound, "", http.MethodPatch, podsPath+"/none?fieldManager=t", rewrite.Apply, `metadata: {name: none}`)
	l.wants(http.StatusOK, "", http.MethodPut, podsPath+"/p", rewrite.JSON, `{"metadata":{"name":"p","namespace":"default"}}`)
	if uid := decoded(t, string(last(t, l.members[0]).Body)).UID; uid != "uid-p0" {
		t.Errorf("the update has uid %q, without which a member may create the object", uid)
	}
}

// TestReadAfterWrite guards clients that get an object after they changed it.
func TestReadAfterWrite(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	for _, value := range []string{"1", "2", "3", "4", "5"} {
		l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{"metadata":{"labels":{"n":"`+value+`"}}}`)
		got := l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p", "", "")
		if label := decoded(t, got).Labels["n"]; label != value {
			t.Fatalf("after a write of %s the label is %s", value, label)
		}
	}
}

// TestSameNameInTwoClusters guards against a write to a cluster by chance.
func TestSameNameInTwoClusters(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "p")
	// Clients retry 409, and advise to force it.
	const text = "the object exists in the clusters c1, c2; name one with the parameter ?cluster= or the header X-Anymesh-Cluster"
	l.wants(http.StatusBadRequest, text, http.MethodDelete, podsPath+"/p", "", "")
	l.wants(http.StatusBadRequest, text, http.MethodGet, podsPath+"/p/log", "", "")
	l.wants(http.StatusBadRequest, text, http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{}`)
	l.wants(http.StatusBadRequest, text, http.MethodPost, podsPath+"/p/eviction", rewrite.JSON, `{}`)
	code, header, answer := l.do("jane", http.MethodGet, podsPath+"/p", "", "")
	if got := decoded(t, answer).Annotations[cache.ClusterAnnotation]; code != http.StatusOK || got != "c1" ||
		!strings.Contains(header.Get("Warning"), "c2") {
		t.Errorf("GET answers %d with the object of %s and warning %q", code, got, header.Get("Warning"))
	}
	l.wants(http.StatusOK, "log of p", http.MethodGet, podsPath+"/p/log?cluster=c2", "", "")
	l.wants(http.StatusOK, `"c2"`, http.MethodPatch, podsPath+"/p?cluster=c2", rewrite.MergePatch, `{"metadata":{"labels":{"x":"y"}}}`)
	if r := last(t, l.members[1]); r.Query.Has("cluster") {
		t.Errorf("the member gets the query %v", r.Query)
	}
	l.wants(http.StatusBadRequest, "not a member", http.MethodDelete, podsPath+"/p?cluster=c9", "", "")
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("cluster c1 got %d requests", n)
	}
}

// TestBindingAndEviction guards subresources whose bodies are other kinds.
func TestBindingAndEviction(t *testing.T) {
	l := newLab(t, 2)
	l.put(1, "p")
	got := decoded(t, l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p", "", ""))
	body, err := json.Marshal(corev1.Binding{ObjectMeta: got, Target: corev1.ObjectReference{Kind: "Node", Name: "n2"}})
	if err != nil {
		t.Fatal(err)
	}
	l.wants(http.StatusCreated, `"n2"`, http.MethodPost, podsPath+"/p/binding", rewrite.JSON, string(body))
	bound := last(t, l.members[1])
	if m := decoded(t, string(bound.Body)); bound.Path != podsPath+"/p/binding" || m.ResourceVersion != "1001" ||
		m.Annotations[cache.ClusterAnnotation] != "" {
		t.Errorf("the member gets %s %s", bound.Path, bound.Body)
	}
	l.wants(http.StatusCreated, "", http.MethodPost, podsPath+"/p/eviction", rewrite.JSON,
		`{"metadata":{"name":"p"},"deleteOptions":{"preconditions":{"resourceVersion":"`+got.ResourceVersion+`"}}}`)
	if r := last(t, l.members[1]); !strings.Contains(string(r.Body), `"resourceVersion":"1001"`) {
		t.Errorf("the member gets %s", r.Body)
	}
}

// TestDeleteCollection deletes in each cluster, and says what happened in each.
func TestDeleteCollection(t *testing.T) {
	l := newLab(t, 3)
	for i := range 3 {
		l.put(i, "p")
	}
	l.members[2].Set(membertest.Faults{Unreachable: true})
	answer := l.wants(http.StatusServiceUnavailable, "cluster/c2", http.MethodDelete, podsPath, "", "")
	var status metav1.Status
	if err := json.Unmarshal([]byte(answer), &status); err != nil || len(status.Details.Causes) != 3 ||
		status.Details.Causes[0].Message != "deleted" || status.Details.Causes[2].Message == "deleted" {
		t.Errorf("%s, %v", answer, err)
	}
	l.wants(http.StatusOK, "deleted", http.MethodDelete, podsPath+"?cluster=c1", "", "")
}

// TestWritesToAnUnreachableClusterAnswerSoon guards clients against a wait for a cluster that is away.
func TestWritesToAnUnreachableClusterAnswerSoon(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	l.members[0].Set(membertest.Faults{Unreachable: true})
	l.wants(http.StatusServiceUnavailable, "cluster c1", http.MethodDelete, podsPath+"/p", "", "")
	l.wants(http.StatusServiceUnavailable, "cluster c1", http.MethodGet, podsPath+"/p/log", "", "")
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/q", rewrite.MergePatch, `{"metadata":{"labels":{"x":"y"}}}`)
}

// TestMembersGetTheUser guards against a write with the rights of the aggregator.
func TestMembersGetTheUser(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	l.wants(http.StatusOK, "", http.MethodPatch, podsPath+"/p", rewrite.MergePatch, `{}`)
	l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p/log", "", "")
	for _, r := range l.members[0].Requests() {
		if r.Header.Get("Impersonate-User") != "jane" || r.Header.Get("Impersonate-Group") != "dev" ||
			r.Header.Get("Authorization") != "Bearer aggregator" {
			t.Errorf("%s %s has the headers %v", r.Method, r.Path, r.Header)
		}
	}
}

// TestWritesDoNotRestartWatches guards the time of writes: their events come by themselves, and a watch that is
// restarted to ask for progress delays them.
func TestWritesDoNotRestartWatches(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "first")
	before := l.members[0].Watches()
	for n := range 20 {
		l.put(0, fmt.Sprint("pod-", n))
	}
	if n := l.members[0].Watches() - before; n > 1 {
		t.Errorf("20 writes started %d watches", n)
	}
}
