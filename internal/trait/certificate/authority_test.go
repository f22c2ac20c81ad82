package certificate_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"anymesh.dev/anymesh/internal/trait/certificate"
)

var owner = metav1.OwnerReference{APIVersion: "standard.oam.dev/v1alpha1", Kind: "Route", Name: "web", UID: "1"}

func get(t *testing.T, client kubernetes.Interface) *corev1.Secret {
	t.Helper()
	found, err := client.CoreV1().Secrets("shop").Get(t.Context(), "web-cert", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func issue(t *testing.T, a certificate.Authority, want bool) {
	t.Helper()
	wrote, err := a.Issue(t.Context(), request, owner)
	if err != nil || wrote != want {
		t.Fatalf("wrote %t, %v; want %t", wrote, err, want)
	}
}

// Two replicas share the authority; a new Secret is written once, and again when it is to be renewed.
func TestAuthorityIssuesAndRenews(t *testing.T) {
	client, now := fake.NewClientset(), time.Now()
	var replicas []certificate.Authority
	for range 2 {
		store, err := certificate.OpenStore(t.Context(), client, "anymesh-system", "cluster.local")
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, certificate.Authority{CA: store, Client: client, Now: func() time.Time { return now }})
	}
	issue(t, replicas[0], true)
	issue(t, replicas[1], false)
	first := get(t, client)
	pair, err := tls.X509KeyPair(first.Data["tls.crt"], first.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	authority, err := client.CoreV1().Secrets("anymesh-system").Get(t.Context(), certificate.AuthoritySecret,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(first.Data["ca.crt"]) || !bytes.Equal(first.Data["ca.crt"], authority.Data["ca.crt"]) {
		t.Error("ca.crt does not have the roots of the authority")
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "shop.example.com"}); err != nil {
		t.Error(err)
	}
	if first.Type != corev1.SecretTypeTLS || first.Labels["a"] != "b" || len(first.OwnerReferences) != 1 {
		t.Errorf("Secret of type %s with %+v", first.Type, first.ObjectMeta)
	}
	now = now.Add(certificate.Lifetime * 2 / 3)
	issue(t, replicas[1], true)
	if bytes.Equal(first.Data["tls.key"], get(t, client).Data["tls.key"]) {
		t.Error("the renewed certificate has the same key")
	}
}

func TestAuthorityKeepsSecretsOfUsers(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-cert"}})
	issue(t, certificate.Authority{CA: newCA(t), Client: client}, false)
	if found := get(t, client); len(found.Data) > 0 {
		t.Errorf("the Secret has %d keys", len(found.Data))
	}
}

// The Secret of a Certificate that is gone is taken over; what others added to it stays.
func TestAuthorityReplacesCertManager(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-cert",
			Annotations: map[string]string{"cert-manager.io/certificate-name": "web-cert", "example.com/copy-to": "all"},
			Labels:      map[string]string{"controller.cert-manager.io/fao": "true"},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"tls.crt": []byte("old")},
	})
	issue(t, certificate.Authority{CA: newCA(t), Client: client}, true)
	found := get(t, client)
	if len(found.Annotations) != 4 || found.Annotations["example.com/copy-to"] != "all" || len(found.Labels) != 2 ||
		found.Annotations["cert-manager.io/issuer-group"] != "anymesh.dev" {
		t.Errorf("annotations %v, labels %v", found.Annotations, found.Labels)
	}
	if _, err := tls.X509KeyPair(found.Data["tls.crt"], found.Data["tls.key"]); err != nil || found.Type != corev1.SecretTypeTLS {
		t.Errorf("Secret of type %s: %v", found.Type, err)
	}
}
