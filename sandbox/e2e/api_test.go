package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// selfSigned returns a certificate for one name and its key, as PEM.
func selfSigned(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// TestWebhookAndAggregatedAPI checks that the API server connects to Pods through Services: admission webhooks and
// aggregated APIs work.
func TestWebhookAndAggregatedAPI(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	cert, key := selfSigned(t, "api."+ns+".svc")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Data: map[string][]byte{"tls.crt": cert, "tls.key": key},
	}
	if _, err := c.client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	svc := service("api", false, "api")
	svc.Spec.Ports = []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}}
	if _, err := c.client.CoreV1().Services(ns).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	box := app("api")
	box.Args = []string{"-https=:8443"}
	box.VolumeMounts = []corev1.VolumeMount{mount("tls", "/tls")}
	p := pod("api", box)
	p.Spec.Volumes = []corev1.Volume{
		volume("tls", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}),
	}
	c.ready(t, ns, p)

	t.Run("webhook", func(t *testing.T) {
		none := admissionv1.SideEffectClassNone
		hook := &admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "label.tests.sandbox", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
				ClientConfig: admissionv1.WebhookClientConfig{
					CABundle: cert,
					Service:  &admissionv1.ServiceReference{Namespace: ns, Name: "api", Path: ptr.To("/mutate")},
				},
				NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns},
				},
				Rules: []admissionv1.RuleWithOperations{{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
					},
				}},
			}},
		}
		hooks := c.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
		if _, err := hooks.Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hooks.Delete(context.Background(), ns, metav1.DeleteOptions{}) })
		eventually(t, "the mutated object", func(ctx context.Context) error {
			cm, err := c.client.CoreV1().ConfigMaps(ns).Create(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			return wantf(cm.Labels["mutated"] == "yes", "labels %v", cm.Labels)
		})
	})
	t.Run("aggregated", func(t *testing.T) {
		service := fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.tests.sandbox"},
			"spec":{"group":"tests.sandbox","version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
			"service":{"namespace":%q,"name":"api"}}}`, ns)
		const path = "/apis/apiregistration.k8s.io/v1/apiservices"
		rest := c.client.Discovery().RESTClient()
		if b, err := rest.Post().AbsPath(path).Body([]byte(service)).DoRaw(t.Context()); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		t.Cleanup(func() { _, _ = rest.Delete().AbsPath(path, "v1.tests.sandbox").DoRaw(context.Background()) })
		eventually(t, "the aggregated API", func(ctx context.Context) error {
			b, err := rest.Get().AbsPath("/apis/tests.sandbox/v1/whoami").DoRaw(ctx)
			if err != nil {
				return err
			}
			return wantf(strings.Contains(string(b), `"user":"admin"`), "%s", b)
		})
	})
}
