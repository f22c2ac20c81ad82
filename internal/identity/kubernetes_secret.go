package identity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// CASecret is the name of the Secret that holds the authority: type
// kubernetes.io/tls with tls.crt, tls.key and, optionally, ca.crt (the roots).
const CASecret = "anymesh-ca"

// rootsKey is where cert-manager and Kubernetes itself keep the roots, too.
const rootsKey = "ca.crt"

// LoadOrCreateCA reads the authority from the Secret CASecret in the namespace,
// or makes a new one and stores it. Of several replicas that start at once, one
// creates the Secret and all use it. An existing Secret is never overwritten: if
// it cannot be used, the error says which key to mend.
func LoadOrCreateCA(ctx context.Context, client kubernetes.Interface, namespace, trustDomain string) (*CA, error) {
	secrets := client.CoreV1().Secrets(namespace)
	found, err := secrets.Get(ctx, CASecret, metav1.GetOptions{})
	if err == nil {
		return caFromSecret(found, trustDomain)
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, CASecret, err)
	}
	ca, err := NewCA(trustDomain)
	if err != nil {
		return nil, err
	}
	key, err := ca.KeyPEM()
	if err != nil {
		return nil, err
	}
	_, err = secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: CASecret, Namespace: namespace,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "anymesh"},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       ca.CertificatePEM(),
			corev1.TLSPrivateKeyKey: key,
			rootsKey:                ca.Bundle().PEM(),
		},
	}, metav1.CreateOptions{})
	if err == nil {
		return ca, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create Secret %s/%s: %w", namespace, CASecret, err)
	}
	// Another replica was first; its authority is the mesh's.
	if found, err = secrets.Get(ctx, CASecret, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, CASecret, err)
	}
	return caFromSecret(found, trustDomain)
}

func caFromSecret(s *corev1.Secret, trustDomain string) (*CA, error) {
	for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(s.Data[k]) == 0 {
			return nil, fmt.Errorf("Secret %s/%s: data[%q] is missing", s.Namespace, s.Name, k)
		}
	}
	ca, err := LoadCA(trustDomain, s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data[rootsKey])
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return ca, nil
}
