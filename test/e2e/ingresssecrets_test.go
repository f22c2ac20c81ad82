package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// brokenSecretsManifests are hosts with TLS whose Secrets are not usable: one has a key that does not fit, one is
// empty, one does not exist.
func brokenSecretsManifests() string {
	var out strings.Builder
	for _, name := range []string{"mismatch", "empty", "missing"} {
		fmt.Fprintf(&out, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: %[1]s}
spec:
  ingressClassName: anymesh
  tls: [{hosts: [%[1]s.example], secretName: cert-%[1]s}]
  rules:
    - host: %[1]s.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`, name)
	}
	return out.String()
}

// brokenSecrets checks that one broken Secret among many hurts only its hosts, that events about it and its Ingress,
// and the check, name it, and that a Secret that is repaired is used.
func brokenSecrets(t *testing.T, ca *authority, g *forwarded) {
	t.Helper()
	secrets := lab.kube.CoreV1().Secrets("shop")
	mismatch := ca.serving(t, "mismatch.example")
	mismatch[corev1.TLSPrivateKeyKey] = ca.serving(t, "mismatch.example")[corev1.TLSPrivateKeyKey]
	for name, data := range map[string]map[string][]byte{"cert-mismatch": mismatch, "cert-empty": nil} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
		if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, brokenSecretsManifests())
	eventually(t, 90*time.Second, "an event about each Secret and Ingress", func() error {
		out := run(t, "-n", "shop", "get", "events", "--field-selector", "reason=CertificateUnavailable", "-o",
			"jsonpath={.items[*].involvedObject.name}")
		about := strings.Fields(out)
		for _, name := range []string{"cert-mismatch", "cert-empty", "cert-missing", "mismatch", "empty", "missing"} {
			if !slices.Contains(about, name) {
				return fmt.Errorf("events are about %s, not about %s", out, name)
			}
		}
		return nil
	})
	if out := checkOutput(t); !strings.Contains(out, "Secret shop/cert-missing, which Ingress shop/missing names for missing.example, does not exist") {
		t.Errorf("the check does not name the missing Secret:\n%s", out)
	}
	for _, name := range []string{"mismatch", "empty", "missing"} {
		if r, err := g.get(t, "https://"+name+".example/"); err == nil {
			t.Errorf("host %s.example answers %+v without a certificate", name, r)
		}
	}
	r, err := g.get(t, "https://shop.example/api")
	if err := wantResponse(r, err, r.Status == 200, "status 200 of the host with a valid Secret"); err != nil {
		t.Error(err)
	}
	missing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cert-missing"}, Data: ca.serving(t, "missing.example")}
	if _, err := secrets.Create(t.Context(), missing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	repaired := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cert-mismatch"}, Data: ca.serving(t, "mismatch.example")}
	if _, err := secrets.Update(t.Context(), repaired, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mismatch", "missing"} {
		eventually(t, 20*time.Second, "host "+name, func() error {
			r, err := g.get(t, "https://"+name+".example/")
			return wantResponse(r, err, r.Status == 200, "status 200")
		})
	}
}
