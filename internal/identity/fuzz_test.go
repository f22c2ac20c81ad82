package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// For any request, the certificate has the identity of the claims.
func FuzzSign(f *testing.F) {
	ca := testCA(f)
	f.Add(newCSR(f, newKey(f), &x509.CertificateRequest{}))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, csr []byte) {
		for _, text := range [][]byte{csr, EncodeRequest(csr)} { // as it is, and with valid PEM around it
			issued, err := ca.Sign(text, blue, time.Hour)
			if err != nil {
				continue
			}
			p, err := PeerFromCertificate(leafOf(t, issued))
			if err != nil || p.Pod != blue.Pod || p.PodUID != blue.PodUID || p.Namespace != blue.Namespace {
				t.Fatalf("signed %+v, %v", p, err)
			}
		}
	})
}

// A certificate is no peer, or its ID parses to the same peer.
func FuzzPeer(f *testing.F) {
	issued, err := testCA(f).Sign(newCSR(f, newKey(f), &x509.CertificateRequest{}), blue, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	block, _ := pem.Decode(issued.CertificatePEM)
	f.Add(block.Bytes)
	f.Fuzz(func(t *testing.T, der []byte) {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return
		}
		p, err := PeerFromCertificate(cert)
		if err != nil {
			return
		}
		again, err := parseID(p.ID())
		if err != nil || again.ID() != p.ID() {
			t.Fatalf("%q reads back as %q, %v", p.ID(), again.ID(), err)
		}
	})
}

// Every response is JSON of the documented form, and only the valid token gets a certificate.
func FuzzHandler(f *testing.F) {
	h := NewHandler(testCA(f), staticVerifier{},
		HandlerOptions{SourceRequestsPerSecond: 1e9, SourceBurst: 1e9, PodCertificatesPerSecond: 1e9, PodBurst: 1e9})
	f.Add("POST", SigningPath, "Bearer good", newCSR(f, newKey(f), &x509.CertificateRequest{}))
	f.Add("GET", "/", "", []byte{})
	f.Fuzz(func(t *testing.T, method, path, authorization string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, SigningPath, bytes.NewReader(body))
		r.Method, r.URL.Path = method, path
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var got struct{ Code, Message, Certificate string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("answer %q: %v", w.Body, err)
		}
		if (w.Code == http.StatusOK) != (got.Certificate != "") || (w.Code == http.StatusOK) == (got.Code != "") {
			t.Fatalf("status %d with %+v", w.Code, got)
		}
		if w.Code == http.StatusOK && !bytes.Contains([]byte(authorization), []byte("good")) {
			t.Fatalf("a certificate for %q", authorization)
		}
	})
}
