package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/trait/certificate"
)

// issuerManifests are an Issuer that signs with a CA, and its CA.
const issuerManifests = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {namespace: shop, name: selfsigned}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {namespace: shop, name: root}
spec: {isCA: true, commonName: root, secretName: root, issuerRef: {name: selfsigned}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {namespace: shop, name: team}
spec: {ca: {secretName: root}}
`

// TestCertManager gets the certificate of a Route from the real controllers of cert-manager, then from the built-in
// authority, and from cert-manager again.
func TestCertManager(t *testing.T) {
	installCertManager(t)
	apply(t, shopManifests)
	runCertManager(t)

	authority, owner := newIssuer(t)
	reader := newClusterReader(t)
	byTeam := certificate.Request{Namespace: "shop", Route: "web", Host: "shop.example.com", IssuerName: "team"}
	builtIn := byTeam
	builtIn.IssuerName = ""
	plan := func(r certificate.Request) certificate.Plan {
		return certificate.Make(r, reader, authority.CA.Current().Bundle().Pool(), time.Now())
	}
	if w := plan(byTeam).Waiting; w == nil || w.Reason != "NoIssuer" {
		t.Fatalf("without Issuer: %+v", w)
	}
	apply(t, issuerManifests)
	object := manifestsOf(t, plan(byTeam).Objects)
	byCertManager := func() {
		t.Helper()
		if _, err := kubectlInput(t.Context(), object, "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
		eventually(t, 3*time.Minute, "a certificate of cert-manager", func() error {
			if w := plan(byTeam).Waiting; w != nil {
				return fmt.Errorf("%s: %s", w.Reason, w.Message)
			}
			return hasCertificateOf(t, "root")
		})
	}
	byCertManager()

	if _, err := kubectlInput(t.Context(), object, "delete", "--wait=true", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	if p := plan(builtIn); !p.Issue || p.Source != certificate.BuiltIn {
		t.Fatalf("without Certificate: %+v", p)
	}
	if wrote, err := authority.Issue(t.Context(), builtIn, owner); err != nil || !wrote {
		t.Fatalf("wrote %t, %v", wrote, err)
	}
	if p := plan(builtIn); p.Issue || p.Waiting != nil {
		t.Fatalf("with a certificate of the built-in authority: %+v", p)
	}
	if err := hasCertificateOf(t, "Anymesh root"); err != nil {
		t.Fatal(err)
	}
	byCertManager()
}

// installCertManager applies the CRDs of cert-manager.
func installCertManager(t *testing.T) {
	t.Helper()
	apply(t, readManifests(t, filepath.Join(moduleDir(t, "../certmanager", "github.com/cert-manager/cert-manager"),
		"deploy/crds")))
	waitEstablished(t, "certificates.cert-manager.io", "issuers.cert-manager.io", "orders.acme.cert-manager.io",
		"challenges.acme.cert-manager.io")
}

// runCertManager runs the controllers of cert-manager until the test ends. It ends after its objects, because
// challenges have a finalizer that only it removes.
func runCertManager(t *testing.T, flags ...string) {
	t.Helper()
	runProgram(t, exec.Command(filepath.Join(lab.bin, "certmanager"),
		append([]string{"--kubeconfig", lab.kubeconfig}, flags...)...))
	t.Cleanup(func() {
		if _, err := kubectl(context.Background(), "delete", "certificates,orders,challenges", "--all", "--all-namespaces",
			"--wait=true", "--timeout=180s"); err != nil {
			t.Error(err)
		}
	})
}

// hasCertificateOf returns nil if the Secret of the Route has a certificate for its host that its key ca.crt verifies,
// of an issuer whose name begins with a text.
func hasCertificateOf(t *testing.T, issuer string) error {
	t.Helper()
	secret, err := lab.kube.CoreV1().Secrets("shop").Get(t.Context(), "web-cert", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "shop.example.com"}); err != nil {
		return err
	}
	if name := pair.Leaf.Issuer.CommonName; !strings.HasPrefix(name, issuer) {
		return fmt.Errorf("the issuer is %q, want %q", name, issuer)
	}
	return nil
}
