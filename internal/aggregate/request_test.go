package aggregate

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestInnerPath(t *testing.T) {
	for _, c := range []struct {
		path, want string
		ok         bool
	}{
		{"/apis/search.karmada.io/v1alpha1/proxying/api/v1/pods", "/api/v1/pods", true},
		{"/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy/api/v1/pods", "/api/v1/pods", true},
		{"/apis/search.karmada.io/v1alpha1/proxying/api/v1/namespaces/n/pods/p/proxy/x", "/api/v1/namespaces/n/pods/p/proxy/x", true},
		{"/api/v1/pods", "/api/v1/pods", true},
		{"/apis/search.karmada.io", "/apis/search.karmada.io", true},
		{"/apis/search.karmada.io/v1alpha1", "", false},
		{"/apis/search.karmada.io/v1alpha1/resourceregistries", "", false},
	} {
		got, ok := innerPath(c.path)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %s, %v", c.path, got, ok)
		}
	}
}

// TestClientsCannotNameAnIdentity guards against identity headers of clients that reach another API server.
func TestClientsCannotNameAnIdentity(t *testing.T) {
	h := http.Header{}
	h.Set("Authorization", "Bearer secret")
	h.Set("Impersonate-User", "admin")
	h.Set("Impersonate-Extra-Scopes", "all")
	h["impersonate-group"] = []string{"system:masters"}
	h.Set("X-Remote-Group", "system:masters")
	h.Set("Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io")
	h.Set("Accept", "application/json")
	impersonate(h, &user.DefaultInfo{
		Name: "jane", UID: "7", Groups: []string{"dev", "system:authenticated"},
		Extra: map[string][]string{"example.org/Scope": {"a", "b"}},
	})
	want := http.Header{
		"Accept": {"application/json"}, "Impersonate-User": {"jane"}, "Impersonate-Uid": {"7"},
		"Impersonate-Group": {"dev", "system:authenticated"}, "Impersonate-Extra-Example.org%2fscope": {"a", "b"},
		"Sec-Websocket-Protocol": {"v5.channel.k8s.io"},
	}
	for name := range h {
		if len(want[name]) == 0 {
			t.Errorf("header %s: %q is passed on", name, h[name])
		}
	}
	for name := range want {
		if got := h[name]; len(got) != len(want[name]) || got[0] != want[name][0] {
			t.Errorf("header %s: got %q, want %q", name, got, want[name])
		}
	}
}

// TestImpersonationIsRefused guards against an answer with the rights of another user than the one that was asked for.
func TestImpersonationIsRefused(t *testing.T) {
	accept := func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "admin"}}, true, nil
	}
	s := &Server{inFlight: newInFlight(1, 1), authenticator: authenticator.RequestFunc(accept)}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.Header.Set("Impersonate-User", "jane")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Impersonate-User is not supported") {
		t.Errorf("got %d: %s", w.Code, w.Body)
	}
}

func TestNegotiate(t *testing.T) {
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		accept string
		want   form
	}{
		{"", formJSON},
		{"*/*", formJSON},
		{"application/json", formJSON},
		{"application/vnd.kubernetes.protobuf, */*", formJSON},
		{"application/vnd.kubernetes.protobuf", formNone},
		{"text/html", formNone},
		{table + ",application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", formTable},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", formJSON},
		{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", formPartial},
	} {
		if got := negotiate([]string{c.accept}, false); got != c.want {
			t.Errorf("%q: got %d, want %d", c.accept, got, c.want)
		}
	}
}

func TestPinIsNotPassedOn(t *testing.T) {
	for query, want := range map[string]string{"a=b&cluster=c1": "a=b", "z=1&a=2": "z=1&a=2", "cluster=": ""} {
		if got := withoutCluster(&url.URL{RawQuery: query}); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
