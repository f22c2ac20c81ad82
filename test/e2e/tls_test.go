package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// vaultARN is the ARN of a certificate of ACM, which a setting maps to the Secret vault-acm.
const vaultARN = "arn:aws:acm:eu-west-1:111122223333:certificate/vault"

// vaultManifests define a service that accepts connections with TLS only. Its certificates are in two Secrets: the pod
// mounts one by an annotation, and the other by its ARN.
const vaultManifests = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: colors, name: vault}
spec:
  awsName: vault.colors.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: vault}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: vault}
spec:
  podSelector: {matchLabels: {app: vault}}
  listeners:
    - portMapping: {port: 8080, protocol: http}
      tls: {mode: STRICT, certificate: {file: {certificateChain: /tls/tls.crt, privateKey: /tls/tls.key}}}
    - portMapping: {port: 8081, protocol: http}
      tls: {mode: STRICT, certificate: {acm: {certificateARN: "` + vaultARN + `"}}}
    - portMapping: {port: 8082, protocol: http}
      tls: {mode: STRICT, certificate: {acm: {certificateARN: "` + vaultARN + `-unknown"}}}
  serviceDiscovery: {dns: {hostname: vault.colors.svc.cluster.local}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: vault}
spec: {selector: {app: vault}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: vault}
spec:
  selector: {matchLabels: {app: vault}}
  template:
    metadata:
      labels: {app: vault}
      annotations: {appmesh.k8s.aws/secretMounts: "vault-tls:/tls"}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --listen=:8080, --version=vault]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

const vaultURL = "http://vault.colors.svc.cluster.local:8080/"

// TestCertificateInFilesRotates checks that a STRICT listener serves the certificate of a Secret to sidecars and to
// others, refuses connections without TLS, and serves the next certificate without a failed request. The probes of
// the kubelet reach the application without TLS.
func TestCertificateInFilesRotates(t *testing.T) {
	secrets := lab.kube.CoreV1().Secrets("colors")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vault-tls"}, Data: servingCertificate(t)}
	byARN := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vault-acm"}, Data: servingCertificate(t)}
	for _, s := range []*corev1.Secret{secret, byARN} {
		if _, err := secrets.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = secrets.Delete(contextOf(t), s.Name, metav1.DeleteOptions{}) })
	}
	apply(t, vaultManifests)
	t.Cleanup(func() { patchBackends(t, `[{"op":"remove","path":"/spec/backends/3"}]`) })
	patchBackends(t,
		`[{"op":"add","path":"/spec/backends/3","value":{"virtualService":{"virtualServiceRef":{"name":"vault"}}}}]`)
	waitReady(t, "colors", "deployment/vault")
	eventually(t, 20*time.Second, "front reaches vault", func() error {
		o, err := callFrom(t.Context(), "front", vaultURL)
		return want(o, err, o.Version == "vault", "a response of vault")
	})

	pod := strings.Fields(run(t, "-n", "colors", "get", "pods", "-l", "app=vault", "-o",
		"jsonpath={.items[0].metadata.name} {.items[0].status.podIP}"))
	if text, err := fetch(t.Context(), hostPort(pod[1], 8080)); err == nil {
		t.Errorf("a request without TLS has the response %s", text)
	}
	if err := errors.Join(serves(t, pod[1], 8080, secret), serves(t, pod[1], 8081, byARN)); err != nil {
		t.Fatal(err)
	}
	if served, err := servedCertificate(t.Context(), pod[1], 8082); err == nil {
		t.Errorf("the listener without a Secret presents a certificate:\n%s", served)
	}
	if conditions := run(t, "-n", "colors", "get", "virtualnode", "vault", "-o", "jsonpath={.status.conditions}"); !strings.Contains(
		conditions, "CertificateUnavailable") {
		t.Errorf("the status of the VirtualNode is without CertificateUnavailable: %s", conditions)
	}

	calls := startCalls(t, "front", vaultURL, 10000)
	secret.Data = servingCertificate(t)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The kubelet looks at Secrets when it syncs a pod.
	run(t, "-n", "colors", "annotate", "pod", pod[0], "rotated=true")
	eventually(t, 2*time.Minute, "the new certificate is served", func() error { return serves(t, pod[1], 8080, secret) })
	counts := callsFrom(t, "front", vaultURL, 100)
	for outcome, n := range calls.Wait(t) {
		counts[outcome] += n
	}
	if len(counts) != 1 || counts["vault"] != 10100 {
		t.Errorf("calls during the rotation: %v", counts)
	}
	t.Run("a file that the pod does not have", missingFile)
}

// servedCertificate returns the certificate that a server presents, as PEM.
func servedCertificate(ctx context.Context, host string, port int) (string, error) {
	return onNode(ctx, "python3", "-c",
		"import ssl, sys; print(ssl.get_server_certificate((sys.argv[1], int(sys.argv[2])), timeout=5))", host,
		strconv.Itoa(port))
}

// serves returns an error unless the server presents the certificate of the Secret.
func serves(t *testing.T, host string, port int, secret *corev1.Secret) error {
	t.Helper()
	served, err := servedCertificate(t.Context(), host, port)
	if err == nil && strings.TrimSpace(served) != strings.TrimSpace(string(secret.Data[corev1.TLSCertKey])) {
		err = fmt.Errorf("another certificate:\n%s", served)
	}
	return err
}

// servingCertificate returns the data of a Secret with a new certificate, which signs itself.
func servingCertificate(t *testing.T) map[string][]byte {
	t.Helper()
	return issue(t, []string{"vault.colors.svc.cluster.local"}, nil, nil)
}

// issue returns the data of a Secret with a new certificate of an issuer; without one, it signs itself.
func issue(t *testing.T, names []string, issuer *x509.Certificate, signer *ecdsa.PrivateKey) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if issuer == nil {
		issuer, signer = template, key
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
