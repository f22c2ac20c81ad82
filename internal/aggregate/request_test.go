package aggregate

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
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

// TestImpersonation guards against an answer with the rights of another user than the one that was asked for.
func TestImpersonation(t *testing.T) {
	accept := func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "deputy"}}, true, nil
	}
	var asked []string
	authorize := func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked = append(asked, strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetName()}, " "))
		if a.GetUser().GetName() == "deputy" && a.GetVerb() == "impersonate" && a.GetName() != "admin" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "no rule", nil
	}
	s := &Server{
		inFlight: newInFlight(1, 1, newMetrics()), authenticator: authenticator.RequestFunc(accept),
		authorizer: authorizer.AuthorizerFunc(authorize),
	}
	s.refreshed.Store(true)
	s.view.Store(&view{selected: selected{kinds: map[schema.GroupVersionResource]*registered{{Version: "v1", Resource: "pods"}: {}}}})
	for _, c := range []struct {
		header, value string
		code          int
		want          string
	}{
		{"Impersonate-User", "jane", http.StatusForbidden, `user \"jane\" cannot list it`},
		{"Impersonate-User", "system:serviceaccount:a:b", http.StatusForbidden, `user \"system:serviceaccount:a:b\" cannot list it`},
		{"Impersonate-User", "admin", http.StatusForbidden, `User \"deputy\" cannot impersonate`},
		{"Impersonate-Group", "system:masters", http.StatusBadRequest, "without impersonating a user"},
		{"Accept", "*/*", http.StatusForbidden, `user \"deputy\" cannot list it`},
	} {
		asked = nil
		r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
		r.Header.Set(c.header, c.value)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %s: got %d, want %d: %s; asked for %q", c.header, c.value, w.Code, c.code, w.Body, asked)
		}
	}
}

func TestNegotiate(t *testing.T) {
	const (
		meta     = ";g=meta.k8s.io;v=v1"
		json     = "application/json"
		protobuf = "application/vnd.kubernetes.protobuf"
		table    = json + ";as=Table" + meta
		list     = ";as=PartialObjectMetadataList" + meta
	)
	for _, c := range []struct {
		accept string
		want   format
	}{
		{"", format{formFull, false}},
		{"*/*", format{formFull, false}},
		{json, format{formFull, false}},
		{protobuf + ", */*", format{formFull, false}},
		{protobuf, format{formFull, true}},
		{protobuf + "," + json + ";q=0.5", format{formFull, true}},
		{protobuf + ";q=0.5," + json, format{formFull, false}},
		{protobuf + ";q=0," + json, format{formFull, false}},
		{"text/html", format{}},
		{"application/cbor", format{}},
		{table + "," + json + ";as=Table;v=v1beta1;g=meta.k8s.io," + json, format{formTable, false}},
		{json + ";as=Table;v=v1beta1;g=meta.k8s.io," + json, format{formFull, false}},
		{protobuf + ";as=Table" + meta, format{}},
		{protobuf + list + "," + json + list + "," + json, format{formPartial, false}},
		{protobuf + list + "," + json, format{formPartial, true}},
	} {
		if got := negotiate([]string{c.accept}, false, true); got != c.want {
			t.Errorf("%q: got %v, want %v", c.accept, got, c.want)
		}
	}
	if got := negotiate([]string{protobuf}, false, false); got.form != formNone {
		t.Errorf("custom resource: got %v", got)
	}
}

func TestPinIsNotPassedOn(t *testing.T) {
	for query, want := range map[string]string{"a=b&cluster=c1": "a=b", "z=1&a=2": "z=1&a=2", "cluster=": ""} {
		if got := withoutCluster(&url.URL{RawQuery: query}); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
