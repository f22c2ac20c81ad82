package certificate

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/internal/identity"
)

const (
	// AuthoritySecret is the Secret of the built-in authority, in the namespace of the control plane. Its key ca.crt has
	// the roots that clients have to trust.
	AuthoritySecret = "anymesh-route-ca"
	// Lifetime is the lifetime of certificates.
	Lifetime = 90 * 24 * time.Hour
	// rootLifetime is the lifetime of roots. Users copy roots to clients, so that it is long.
	rootLifetime = 10 * 365 * 24 * time.Hour
	// pollInterval is the interval of reading the Secret of the authority.
	pollInterval = 30 * time.Second
)

// Authority is the built-in authority.
type Authority struct {
	// CA is that of OpenStore.
	CA identity.CAProvider
	// Client writes the Secrets of Routes.
	Client kubernetes.Interface
	// Now defaults to time.Now.
	Now func() time.Time
}

// OpenStore opens the store of the authority's CA, and creates the CA if there is none. The caller has to run it. It is
// separate from the CA of workloads: who trusts the hosts of Routes does not trust workloads.
func OpenStore(ctx context.Context, client kubernetes.Interface, namespace, trustDomain string) (*identity.CAStore,
	error) {
	return identity.OpenCAStore(ctx, client, identity.CAStoreOptions{
		Namespace: namespace, TrustDomain: trustDomain, Secret: AuthoritySecret, Lifetime: Lifetime,
		RootLifetime: rootLifetime, PollInterval: pollInterval,
	})
}

// Issue writes the Secret of a Route, which owns it, with a new key and certificate. It writes nothing if the Secret is
// the user's, or if another replica has written it: the result says whether it wrote. After a conflict it returns an
// error, and the caller has to plan again.
func (a Authority) Issue(ctx context.Context, r Request, owner metav1.OwnerReference) (bool, error) {
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	secrets := a.Client.CoreV1().Secrets(r.Namespace)
	found, err := secrets.Get(ctx, r.Secret(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found, err = nil, nil
	}
	if err != nil {
		return false, fmt.Errorf("Secret %s/%s: %w", r.Namespace, r.Secret(), err)
	}
	ca := a.CA.Current()
	if isUsers(r, found) || !builtIn(r, found, ca.Bundle().Pool(), now()).Issue {
		return false, nil
	}
	wanted, err := newSecret(ca, r, found, owner)
	if err != nil {
		return false, fmt.Errorf("Secret %s/%s: %w", r.Namespace, r.Secret(), err)
	}
	switch {
	case found == nil:
		_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{})
	case found.Type == wanted.Type:
		_, err = secrets.Update(ctx, wanted, metav1.UpdateOptions{})
	default: // the type of a Secret cannot be changed
		err = secrets.Delete(ctx, found.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
		if err == nil {
			wanted.ResourceVersion, wanted.UID = "", ""
			_, err = secrets.Create(ctx, wanted, metav1.CreateOptions{})
		}
	}
	if err != nil {
		return false, fmt.Errorf("Secret %s/%s: %w", r.Namespace, r.Secret(), err)
	}
	return true, nil
}

// newSecret returns the Secret of a Route with a new key. What others added to the Secret that it replaces stays, but
// for the marks of cert-manager.
func newSecret(ca *identity.CA, r Request, found *corev1.Secret, owner metav1.OwnerReference) (*corev1.Secret, error) {
	pair, err := ca.IssueServerKeyPair([]string{r.Host}, Lifetime)
	if err != nil {
		return nil, err
	}
	out := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Secret()}}
	if found != nil {
		out = found.DeepCopy()
		ofCertManager := func(key, _ string) bool {
			prefix, _, _ := strings.Cut(key, "/")
			return prefix == group || strings.HasSuffix(prefix, "."+group)
		}
		maps.DeleteFunc(out.Annotations, ofCertManager)
		maps.DeleteFunc(out.Labels, ofCertManager)
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	maps.Copy(out.Labels, r.Labels)
	out.Labels[issuedLabel] = issuedValue
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	maps.Copy(out.Annotations, issuerAnnotations)
	out.OwnerReferences = []metav1.OwnerReference{owner}
	out.Type = corev1.SecretTypeTLS
	out.Data = map[string][]byte{
		corev1.TLSCertKey: pair.CertificatePEM, corev1.TLSPrivateKeyKey: pair.KeyPEM, caKey: pair.RootsPEM,
	}
	return out, nil
}
