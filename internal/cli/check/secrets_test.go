package check

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// TestGatewaySecrets names the Secrets that are missing or broken, with the object and the hosts, and no others.
func TestGatewaySecrets(t *testing.T) {
	host := func(name string) model.HostCertificate {
		return model.HostCertificate{
			Hosts: []string{name + ".example"}, Origin: model.NewOrigin(model.ObjectRef{Kind: "Ingress", Namespace: "a", Name: name}),
			Certificate: model.Certificate{Secret: model.Secret{Provider: model.ProviderKubernetes, Name: "a/" + name}},
		}
	}
	listener := model.Listener{Port: 8443, Protocol: model.HTTP2, TLS: &model.ServerTLS{
		Mode: model.TLSStrict, Hosts: []model.HostCertificate{host("good"), host("missing"), host("empty"), host("mismatch")},
	}}
	ofAll := model.Listener{
		Port: 443, Protocol: model.HTTP, Origin: model.NewOrigin(model.ObjectRef{Kind: "VirtualGateway", Namespace: "a", Name: "edge"}),
		TLS: &model.ServerTLS{Mode: model.TLSStrict, Certificate: new(host("gone").Certificate)},
	}
	s := &engine.State{Index: model.NewIndex(&model.Model{Workloads: []model.Workload{{
		Key: model.Key{Mesh: "m", Name: "gateway"}, Role: model.RoleGateway, Listeners: []model.Listener{listener, ofAll},
	}}})}
	one, other := keyPair(t), keyPair(t)
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Data: data}
	}
	kube := fake.NewClientset(secret("good", one), secret("empty", nil),
		secret("mismatch", map[string][]byte{"tls.crt": one["tls.crt"], "tls.key": other["tls.key"]}))
	c := &Cluster{Kube: kube, State: func(context.Context) (*engine.State, error) { return s, nil }}
	_, err := gatewaySecrets(t.Context(), c)
	const want = "Secret a/missing, which Ingress a/missing names for missing.example, does not exist; " +
		"Secret a/empty, which Ingress a/empty names for empty.example, has no tls.crt; " +
		"Secret a/mismatch, which Ingress a/mismatch names for mismatch.example, has no valid certificate: " +
		"tls: private key does not match public key; " +
		"Secret a/gone, which VirtualGateway a/edge names for all hosts, does not exist"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	listener.TLS.Hosts, ofAll.TLS.Certificate.Secret.Name = listener.TLS.Hosts[:1], "a/good"
	if remark, err := gatewaySecrets(t.Context(), c); err != nil || remark != "2 certificates" {
		t.Errorf("only valid ones: %q, %v", remark, err)
	}
}

// keyPair returns the data of a Secret with a new certificate.
func keyPair(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
