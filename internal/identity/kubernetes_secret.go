package identity

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CASecret is the name of the Secret that holds the authority: type
// kubernetes.io/tls with tls.crt and tls.key (who signs), and ca.crt (whom the
// mesh trusts). While the root is rotated it also has the next or the previous
// one.
const CASecret = "anymesh-ca"

// RotateAnnotation on the Secret CASecret asks for a new root; its value does not matter. It is removed when the rotation begins.
const RotateAnnotation = "anymesh.dev/rotate"

const (
	untilAnnotation   = "anymesh.dev/phase-until"
	longestAnnotation = "anymesh.dev/longest-lifetime"

	managedLabel, managedByUs = "app.kubernetes.io/managed-by", "anymesh"
)

// Keys of the Secret's data. ca.crt is where cert-manager and Kubernetes itself keep the roots, too.
const (
	rootsKey    = "ca.crt"
	nextCertKey = "next.crt"
	nextKeyKey  = "next.key"
	previousKey = "previous.crt"
	crossKey    = "cross.crt"
)

// stateOf reads a Secret. A state that is not whole is an error that names the key to mend.
func stateOf(s *corev1.Secret, trustDomain string, now func() time.Time) (state, error) {
	out, err := readState(s, trustDomain, now)
	if err != nil {
		return state{}, fmt.Errorf("Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return out, nil
}

func readState(s *corev1.Secret, trustDomain string, now func() time.Time) (state, error) {
	for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(s.Data[k]) == 0 {
			return state{}, fmt.Errorf("data[%q] is missing", k)
		}
	}
	ca, err := loadCA(trustDomain, s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data[rootsKey], now)
	if err != nil {
		return state{}, err
	}
	_, asked := s.Annotations[RotateAnnotation]
	out := state{
		signer: root{cert: ca.cert, key: ca.key}, chain: ca.chain, bundle: ca.bundle, asked: asked,
		managed: s.Labels[managedLabel] == managedByUs && bytes.Equal(ca.cert.RawIssuer, ca.cert.RawSubject),
	}
	if out.next, err = readNext(s.Data[nextCertKey], s.Data[nextKeyKey]); err != nil {
		return state{}, fmt.Errorf("data[%q]: %w", nextCertKey, err)
	}
	if text := s.Data[previousKey]; len(text) > 0 {
		certs, err := parseCertificates(text)
		if err != nil {
			return state{}, fmt.Errorf("data[%q]: %w", previousKey, err)
		}
		out.previous = certs[0]
	}
	if text := s.Data[crossKey]; len(text) > 0 {
		if out.cross, err = parseCertificates(text); err != nil {
			return state{}, fmt.Errorf("data[%q]: %w", crossKey, err)
		}
	}
	if text, ok := s.Annotations[untilAnnotation]; ok {
		if out.until, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return state{}, fmt.Errorf("annotation %s: %w", untilAnnotation, err)
		}
	}
	if text, ok := s.Annotations[longestAnnotation]; ok {
		if out.longest, err = time.ParseDuration(text); err != nil {
			return state{}, fmt.Errorf("annotation %s: %w", longestAnnotation, err)
		}
	}
	return out, out.check()
}

func readNext(certPEM, keyPEM []byte) (*root, error) {
	if len(certPEM) == 0 && len(keyPEM) == 0 {
		return nil, nil //nolint:nilnil // there is none, and that is well
	}
	certs, err := parseCertificates(certPEM)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("its key in data[%q]: %w", nextKeyKey, err)
	}
	if !belongs(key, certs[0]) {
		return nil, fmt.Errorf("the key in data[%q] does not belong to it", nextKeyKey)
	}
	if !certs[0].IsCA {
		return nil, errors.New("it is not an authority's")
	}
	return &root{cert: certs[0], key: key}, nil
}

func belongs(key crypto.Signer, cert *x509.Certificate) bool {
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && pub.Equal(cert.PublicKey)
}

// store puts a state into a Secret; whatever else the Secret has stays.
func (s state) store(in *corev1.Secret) error {
	key, err := encodeKey(s.signer.key)
	if err != nil {
		return err
	}
	chain := s.chain
	if len(chain) == 0 {
		chain = []*x509.Certificate{s.signer.cert}
	}
	data := map[string][]byte{
		corev1.TLSCertKey: encodeCertificates(chain), corev1.TLSPrivateKeyKey: key, rootsKey: s.bundle.PEM(),
		nextCertKey: nil, nextKeyKey: nil, previousKey: nil, crossKey: encodeCertificates(s.cross),
	}
	if s.next != nil {
		if data[nextKeyKey], err = encodeKey(s.next.key); err != nil {
			return err
		}
		data[nextCertKey] = encodeCertificates([]*x509.Certificate{s.next.cert})
	}
	if s.previous != nil {
		data[previousKey] = encodeCertificates([]*x509.Certificate{s.previous})
	}
	notes := map[string]string{longestAnnotation: s.longest.String(), untilAnnotation: "", RotateAnnotation: ""}
	if !s.until.IsZero() {
		notes[untilAnnotation] = s.until.UTC().Format(time.RFC3339Nano)
	}
	if s.asked {
		notes[RotateAnnotation] = "true"
	}
	in.Data, in.Annotations = overlay(in.Data, data), overlay(in.Annotations, notes)
	return nil
}

// overlay sets keys, and removes those that are set to nothing.
func overlay[V []byte | string](old, set map[string]V) map[string]V {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]V{}
	}
	for k, v := range set {
		if len(v) == 0 {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

// newSecret is the Secret of an authority that we have made.
func newSecret(namespace string, s state) (*corev1.Secret, error) {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: CASecret, Labels: map[string]string{managedLabel: managedByUs}},
		Type:       corev1.SecretTypeTLS,
	}
	return out, s.store(out)
}
