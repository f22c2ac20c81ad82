package aggregate

import (
	"crypto/tls"

	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// review answers a TokenReview: one token is valid.
func review(w http.ResponseWriter, r *http.Request) {
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if review.Spec.Token == "good" {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, User: authenticationv1.UserInfo{Username: "robot", UID: "9", Groups: []string{"robots"}},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

// TestAuthentication guards against identities that a client claims: headers count only with a certificate of the
// front proxy's CA and an allowed name.
func TestAuthentication(t *testing.T) {
	clients, proxies, other := newAuthority(t, "clients"), newAuthority(t, "proxies"), newAuthority(t, "other")
	control := membertest.New()
	t.Cleanup(control.Close)
	control.Put("/api/v1/configmaps", membertest.Object{
		"kind": "ConfigMap", "apiVersion": "v1", "metadata": membertest.Object{"namespace": authenticationNamespace, "name": authenticationConfig},
		"data": membertest.Object{
			"client-ca-file": clients.pem(), "requestheader-client-ca-file": proxies.pem(),
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
			"requestheader-uid-headers": `["X-Remote-Uid"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
			"requestheader-allowed-names": `["front-proxy"]`,
		},
	})
	reviewer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			review(w, r)
		} else {
			control.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(reviewer.Close)
	t.Cleanup(reviewer.CloseClientConnections)
	kube := kubernetes.NewForConfigOrDie(&rest.Config{Host: reviewer.URL})
	authenticator, err := newAuthenticator(t.Context(), kube, "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok, err := authenticator.AuthenticateRequest(r)
		if err != nil || !ok {
			http.Error(w, "nobody", http.StatusUnauthorized)
			return
		}
		groups := slices.Sorted(slices.Values(answer.User.GetGroups()))
		_, _ = fmt.Fprint(w, answer.User.GetName(), " ", answer.User.GetUID(), " ", groups, " ", answer.User.GetExtra()["scope"])
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	remote := http.Header{
		"X-Remote-User": {"jane"}, "X-Remote-Group": {"dev"}, "X-Remote-Uid": {"7"}, "X-Remote-Extra-Scope": {"a"},
	}
	token := func(text string) http.Header { return http.Header{"Authorization": {"Bearer " + text}} }
	alice := pkix.Name{CommonName: "alice", Organization: []string{"ops"}}
	for name, c := range map[string]struct {
		certificate *tls.Certificate
		header      http.Header
		want        string
	}{
		"client certificate":                  {clients.issue(t, alice), nil, "alice  [ops system:authenticated] []"},
		"headers with a client certificate":   {clients.issue(t, alice), remote, "alice  [ops system:authenticated] []"},
		"headers of the front proxy":          {proxies.issue(t, pkix.Name{CommonName: "front-proxy"}), remote, "jane 7 [dev system:authenticated] [a]"},
		"headers of another name of its CA":   {proxies.issue(t, alice), remote, "nobody"},
		"headers of another CA":               {other.issue(t, pkix.Name{CommonName: "front-proxy"}), remote, "nobody"},
		"headers without a certificate":       {nil, remote, "nobody"},
		"headers with a token":                {nil, merged(remote, token("good")), "robot 9 [robots system:authenticated] []"},
		"certificate of another CA":           {other.issue(t, alice), nil, "nobody"},
		"certificate of another CA and token": {other.issue(t, alice), token("good"), "robot 9 [robots system:authenticated] []"},
		"bearer token":                        {nil, token("good"), "robot 9 [robots system:authenticated] []"},
		"bearer token of nobody":              {nil, token("bad"), "nobody"},
		"front proxy without headers":         {proxies.issue(t, pkix.Name{CommonName: "front-proxy"}), nil, "nobody"},
		"nothing":                             {nil, nil, "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			config := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
			if c.certificate != nil {
				// A client sends its certificate, whatever CAs the server names.
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					return c.certificate, nil
				}
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
			defer client.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = c.header.Clone()
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if got := text(t, response); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A TokenReview that the control plane does not answer ends after a time, and is counted.
func TestReviewsAreLimited(t *testing.T) {
	t.Parallel()
	reviewer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client is gone
			<-r.Context().Done()
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(reviewer.Close)
	t.Cleanup(reviewer.CloseClientConnections)
	reviews, err := newAuthenticator(t.Context(), kubernetes.NewForConfigOrDie(&rest.Config{Host: reviewer.URL}), "")
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics()
	s := &Server{metrics: m, authenticator: reviews, authentications: newAuthentications(1, 1, m)}
	r, w := httptest.NewRequest(http.MethodGet, "/api", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer slow")
	if s.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("status %d", w.Code)
	}
	wantsRefused(t, m, reasonReviewTimeout, 1)
}
