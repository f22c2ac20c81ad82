package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// blueReview is the TokenReview status of bluePod's token, requested by the kubelet of node-1.
func blueReview() *authenticationv1.TokenReviewStatus {
	return &authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{Audience},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:shop:colors",
			Extra: map[string]authenticationv1.ExtraValue{
				extraPodName: {blue.Pod}, extraPodUID: {blue.PodUID}, extraNode: {"node-1"},
			}},
	}
}

// requestCertificate sends a request with a token to the signing endpoint. Its API server has one pod and returns one
// TokenReview status.
func requestCertificate(t *testing.T, review *authenticationv1.TokenReviewStatus, pod *corev1.Pod, token string,
	csr []byte) (*httptest.ResponseRecorder, *prometheus.Registry, string) {
	t.Helper()
	client := fake.NewClientset()
	if pod != nil {
		client = fake.NewClientset(pod)
	}
	client.PrependReactor("create", "tokenreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.TokenReview{Status: *review}, nil
	})
	var log bytes.Buffer
	registry := prometheus.NewPedanticRegistry()
	h := NewHandler(testCA(t), NewTokenVerifier(client), HandlerOptions{
		Registerer: registry, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	r := httptest.NewRequest(http.MethodPost, SigningPath, bytes.NewReader(csr))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, registry, log.String()
}

// Only the token of an existing pod gets a certificate; the reason of every other is counted.
func TestInvalidTokensGetNoCertificate(t *testing.T) {
	type change func(*authenticationv1.TokenReviewStatus, *corev1.Pod)
	for name, c := range map[string]struct {
		reason Reason
		status int
		change change
	}{
		"missing": {TokenMissing, http.StatusUnauthorized, nil},
		"expired": {TokenNotAccepted, http.StatusUnauthorized, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			*s = authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, service account token has expired]"}
		}},
		"of another cluster": {TokenNotAccepted, http.StatusUnauthorized, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			*s = authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}
		}},
		"for the API server": {ForeignAudience, http.StatusUnauthorized, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.Audiences = []string{"https://kubernetes.default.svc"}
		}},
		"accepted by an authenticator without audiences": {ForeignAudience, http.StatusUnauthorized, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.Audiences = nil }},
		"of a user":          {NotServiceAccount, http.StatusForbidden, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.User.Username = "jane" }},
		"not bound to a pod": {NotBoundToPod, http.StatusForbidden, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) { s.User.Extra = nil }},
		"bound to two pods": {NotBoundToPod, http.StatusForbidden, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.User.Extra[extraPodUID] = authenticationv1.ExtraValue{"a", "b"}
		}},
		"with a path in the namespace": {InvalidNames, http.StatusForbidden, func(s *authenticationv1.TokenReviewStatus, _ *corev1.Pod) {
			s.User.Username = "system:serviceaccount:shop/../kube-system:colors"
		}},
		"replayed after the pod's deletion":        {PodNotFound, http.StatusForbidden, func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Name = "other" }},
		"replayed after the pod was created again": {PodReplaced, http.StatusForbidden, func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.UID = "other" }},
		"replayed after the pod has finished":      {PodFinished, http.StatusForbidden, func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }},
		"of another account than the pod's":        {AccountMismatch, http.StatusForbidden, func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Spec.ServiceAccountName = "x" }},
		"made on another node":                     {NodeMismatch, http.StatusForbidden, func(_ *authenticationv1.TokenReviewStatus, p *corev1.Pod) { p.Spec.NodeName = "node-2" }},
	} {
		t.Run(name, func(t *testing.T) {
			review, pod, token := blueReview(), bluePod(), "the-token"
			pod.Spec.NodeName = "node-1"
			if c.change != nil {
				c.change(review, pod)
			} else {
				token = ""
			}
			w, registry, log := requestCertificate(t, review, pod, token,
				newCSR(t, newKey(t), &x509.CertificateRequest{}))
			if w.Code != c.status || strings.Contains(w.Body.String(), "BEGIN CERTIFICATE") {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			want := "# HELP anymesh_identity_refused_total Requests to the signing endpoint that got no certificate, by reason.\n" +
				"# TYPE anymesh_identity_refused_total counter\nanymesh_identity_refused_total{reason=\"" +
				string(c.reason) + "\"} 1\n" +
				"# HELP anymesh_identity_issued_total Certificates issued to workloads.\n# TYPE anymesh_identity_issued_total counter\nanymesh_identity_issued_total 0\n"
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "anymesh_identity_refused_total",
				"anymesh_identity_issued_total"); err != nil {
				t.Error(err)
			}
			if strings.Contains(log+w.Body.String(), "the-token") {
				t.Error("the token is disclosed")
			}
		})
	}
}

// The certificate depends only on the token, for all attributes of the request.
func TestRequestAttributesAreIgnored(t *testing.T) {
	big, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	admin := &url.URL{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/kube-system/sa/admin"}
	for name, c := range map[string]struct {
		csr []byte
	}{
		"another SPIFFE ID":      {newCSR(t, newKey(t), &x509.CertificateRequest{URIs: []*url.URL{admin}})},
		"DNS names":              {newCSR(t, newKey(t), &x509.CertificateRequest{DNSNames: []string{"anymesh.anymesh-system.svc", "*"}})},
		"addresses":              {newCSR(t, newKey(t), &x509.CertificateRequest{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, EmailAddresses: []string{"a@b"}})},
		"another subject":        {newCSR(t, newKey(t), &x509.CertificateRequest{Subject: pkix.Name{CommonName: "red-1", SerialNumber: "other", OrganizationalUnit: []string{"kube-system"}, Organization: []string{"system:masters"}}})},
		"to be an authority":     {newCSR(t, newKey(t), &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}}})},
		"to sign certificates":   {newCSR(t, newKey(t), &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 15}, Critical: true, Value: []byte{3, 2, 2, 4}}}})},
		"to sign code":           {newCSR(t, newKey(t), &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 37}, Value: []byte{0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 3}}}})},
		"an RSA key":             {newCSR(t, big, &x509.CertificateRequest{DNSNames: []string{"x"}})},
		"a key of another curve": {newCSR(t, wide, &x509.CertificateRequest{DNSNames: []string{"x"}})},
	} {
		t.Run(name, func(t *testing.T) {
			pod := bluePod()
			pod.Spec.NodeName = "node-1"
			w, _, log := requestCertificate(t, blueReview(), pod, "the-token", c.csr)
			var a signResponse
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
				t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
			}
			certs, err := parseCertificates([]byte(a.Certificate))
			if err != nil {
				t.Fatal(err)
			}
			leaf := certs[0]
			peer, err := PeerFromCertificate(leaf)
			if err != nil || peer != (Peer{"cluster.local", blue.Namespace, blue.ServiceAccount, blue.Pod,
				blue.PodUID}) {
				t.Errorf("peer %+v, %v", peer, err)
			}
			if leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature || len(leaf.ExtKeyUsage) != 2 ||
				len(leaf.UnknownExtKeyUsage) > 0 {
				t.Errorf("authority %v, usage %v, %v", leaf.IsCA, leaf.KeyUsage, leaf.ExtKeyUsage)
			}
			if !slices.Equal(leaf.DNSNames, []string{"colors.shop.sa.cluster.local"}) ||
				len(leaf.IPAddresses)+len(leaf.EmailAddresses)+len(leaf.Subject.Organization) > 0 {
				t.Errorf("names %v %v %v %v", leaf.DNSNames, leaf.IPAddresses, leaf.EmailAddresses, leaf.Subject)
			}
			if strings.Contains(log, "the-token") || !strings.Contains(log, leaf.SerialNumber.Text(16)) {
				t.Errorf("log: %s", log)
			}
		})
	}
}
