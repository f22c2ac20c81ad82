package aggregate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
	"anymesh.dev/anymesh/test/poll"
)

// gone deletes a pod as a client, and waits until the cache knows it.
func (l *lab) gone(name, query string) {
	l.t.Helper()
	l.wants(http.StatusOK, "", http.MethodDelete, podsPath+"/"+name+query, "", "")
	poll.Until(l.t, "the deletion of "+name, func() bool {
		code, _, _ := l.do("jane", http.MethodGet, podsPath+"/"+name+query, "", "")
		return code == http.StatusNotFound
	})
}

// TestReplaceForceLosesNothing guards kubectl replace --force, which deletes an object and creates it: the object is
// created in the cluster that had it.
func TestReplaceForceLosesNothing(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "other")
	l.put(1, "p")
	const body = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default",` +
		`"annotations":{"` + cache.ClusterAnnotation + `":"c2","a":"b"}},"spec":{"nodeName":"n"}}`
	l.wants(http.StatusMethodNotAllowed, "create", http.MethodPost, podsPath, rewrite.JSON, body)
	l.gone("p", "")
	l.allow = func(what string) bool { return what != "jane create pods " }
	l.wants(http.StatusForbidden, "cannot create", http.MethodPost, podsPath, rewrite.JSON, body)
	l.allow = func(string) bool { return true }
	l.wants(http.StatusMethodNotAllowed, "create", http.MethodPost, podsPath, rewrite.JSON, strings.Replace(body, `"p"`, `"q"`, 1))
	l.wants(http.StatusMethodNotAllowed, "create", http.MethodPost, podsPath+"?cluster=c1", rewrite.JSON, body)
	answer := l.wants(http.StatusCreated, "", http.MethodPost, podsPath+"?fieldManager=t", rewrite.JSON, body)
	m := decoded(t, answer)
	v, err := version.Parse(m.ResourceVersion)
	if err != nil || v.Components[0].Cluster != "c2" || m.Annotations[cache.ClusterAnnotation] != "c2" {
		t.Errorf("%s, %v", answer, err)
	}
	r := last(t, l.members[1])
	if strings.Contains(string(r.Body), cache.ClusterAnnotation) || r.Query.Get("fieldManager") != "t" || r.Header.Get("Impersonate-User") != "jane" {
		t.Errorf("the member gets %s, %v, %v", r.Body, r.Query, r.Header)
	}
	l.wants(http.StatusOK, "", http.MethodGet, podsPath+"/p", "", "")
	l.wants(http.StatusMethodNotAllowed, "create", http.MethodPost, podsPath, rewrite.JSON, body)
	wantsRefused(t, l.metrics, reasonCreate, 4)
	if n := len(l.members[0].Requests()); n > 0 {
		t.Errorf("the other cluster got %d requests", n)
	}
}

// TestCreateAgainInProtobuf guards clients of client-go.
func TestCreateAgainInProtobuf(t *testing.T) {
	l := newLab(t, 2)
	l.put(1, "p")
	l.gone("p", "")
	body, err := objectBody(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.do("jane", http.MethodPost, podsPath, rewrite.Protobuf, string(body))
	if r := last(t, l.members[1]); r.Method != http.MethodPost || r.Path != podsPath {
		t.Errorf("the member gets %s %s", r.Method, r.Path)
	}
}

// TestCreateAgainIsAmbiguous guards against the wrong one of two clusters that had the object.
func TestCreateAgainIsAmbiguous(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "p")
	l.gone("p", "?cluster=c1")
	l.gone("p", "?cluster=c2")
	const body = `{"metadata":{"name":"p","namespace":"default"}}`
	l.wants(http.StatusBadRequest, "the object existed in the clusters c1, c2", http.MethodPost, podsPath, rewrite.JSON, body)
	l.wants(http.StatusCreated, `"c1"`, http.MethodPost, podsPath+"?cluster=c1", rewrite.JSON, body)
}

// TestCanICreate guards users who ask before they delete: kubectl auth can-i create pods.
func TestCanICreate(t *testing.T) {
	l := newLab(t, 1)
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := func(attributes string) string {
		return `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{` + attributes + `}}}`
	}
	answer := l.wants(http.StatusCreated, "", http.MethodPost, path, rewrite.JSON, review(`"namespace":"a","verb":"create","resource":"pods"`))
	var got authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Status.Allowed || !got.Status.Denied ||
		!strings.Contains(got.Status.Reason, "member cluster") || got.Spec.ResourceAttributes.Namespace != "a" || got.Kind != "SelfSubjectAccessReview" {
		t.Errorf("%s, %v", answer, err)
	}
	for _, passed := range []string{
		`"verb":"create","resource":"services"`, `"verb":"create","resource":"pods","subresource":"exec"`,
		`"verb":"delete","resource":"pods"`, `"verb":"create","group":"example.com","resource":"pods"`,
	} {
		l.do("jane", http.MethodPost, path, rewrite.JSON, review(passed))
		if r := last(t, l.control); r.Path != path || !strings.Contains(string(r.Body), passed) {
			t.Errorf("%s: the control plane got %s %s", passed, r.Path, r.Body)
		}
	}
	if n := len(l.control.Requests()); n != 4 {
		t.Errorf("the control plane got %d requests", n)
	}
}
