package identity

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CASecret is the name of the Secret of the CA of the mesh. Its type is Opaque or kubernetes.io/tls: tls.crt and
// tls.key are the signer, ca.crt is the trust bundle. During a rotation it also has the next or the previous root. The
// chart creates it without data.
const CASecret = "anymesh-ca"

// RotateAnnotation on the Secret CASecret requests a new root; its value is ignored. It is removed when the rotation
// begins.
const RotateAnnotation = "anymesh.dev/rotate"

const (
	phaseEndAnnotation   = "anymesh.dev/phase-until"
	maxLeafTTLAnnotation = "anymesh.dev/longest-lifetime"
	// names of the roots in a Plan
	signerNameAnnotation, nextNameAnnotation = "anymesh.dev/root-name", "anymesh.dev/next-root-name"
	previousNameAnnotation                   = "anymesh.dev/previous-root-name"
	// formerDomainsAnnotation has trust domains, separated by blanks
	formerDomainsAnnotation = "anymesh.dev/former-trust-domains"

	// generatedAnnotation is on a Secret of another program with a CA that Anymesh made, where Helm sets the label.
	generatedAnnotation          = "anymesh.dev/generated"
	managedLabel, managedByValue = "app.kubernetes.io/managed-by", "anymesh"
)

// Managed reports whether Anymesh made the CA of a Secret, and may replace it.
func Managed(secret metav1.Object) bool {
	return secret.GetAnnotations()[generatedAnnotation] == "true" || secret.GetLabels()[managedLabel] == managedByValue
}

// HasCA reports whether a Secret, which may be nil, has the data of a CA. The chart creates Secrets without data.
func HasCA(secret *corev1.Secret) bool { return secret != nil && len(secret.Data) > 0 }

// Keys of the Secret's data. cert-manager and Kubernetes also use ca.crt for the roots.
const (
	rootsKey    = "ca.crt"
	nextCertKey = "next.crt"
	nextKeyKey  = "next.key"
	previousKey = "previous.crt"
	crossKey    = "cross.crt"
)

// decodeState decodes a Secret. The error of an invalid Secret names the key to repair.
func decodeState(s *corev1.Secret, trustDomain string, now func() time.Time) (state, error) {
	out, err := decodeStateData(s, trustDomain, now)
	if err != nil {
		return state{}, fmt.Errorf("Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return out, nil
}

func decodeStateData(s *corev1.Secret, trustDomain string, now func() time.Time) (state, error) {
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
		signer: root{cert: ca.cert, key: ca.key}, chain: ca.chain, bundle: ca.bundle, rotateRequested: asked,
		managed: Managed(s) && bytes.Equal(ca.cert.RawIssuer, ca.cert.RawSubject),
		names: rootNames{s.Annotations[signerNameAnnotation], s.Annotations[nextNameAnnotation],
			s.Annotations[previousNameAnnotation]},
		formerDomains: strings.Fields(s.Annotations[formerDomainsAnnotation]),
	}
	if out.next, err = decodeNext(s.Data[nextCertKey], s.Data[nextKeyKey]); err != nil {
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
		if out.crossCerts, err = parseCertificates(text); err != nil {
			return state{}, fmt.Errorf("data[%q]: %w", crossKey, err)
		}
	}
	if text, ok := s.Annotations[phaseEndAnnotation]; ok {
		if out.phaseEnd, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return state{}, fmt.Errorf("annotation %s: %w", phaseEndAnnotation, err)
		}
	}
	if text, ok := s.Annotations[maxLeafTTLAnnotation]; ok {
		if out.maxLeafTTL, err = time.ParseDuration(text); err != nil {
			return state{}, fmt.Errorf("annotation %s: %w", maxLeafTTLAnnotation, err)
		}
	}
	return out, out.check()
}

func decodeNext(certPEM, keyPEM []byte) (*root, error) {
	if len(certPEM) == 0 && len(keyPEM) == 0 {
		return nil, nil //nolint:nilnil // there is no next root
	}
	certs, err := parseCertificates(certPEM)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("its key in data[%q]: %w", nextKeyKey, err)
	}
	if !keyMatches(key, certs[0]) {
		return nil, fmt.Errorf("the key in data[%q] does not belong to it", nextKeyKey)
	}
	if !certs[0].IsCA {
		return nil, errors.New("it is not a CA certificate")
	}
	return &root{cert: certs[0], key: key}, nil
}

func keyMatches(key crypto.Signer, cert *x509.Certificate) bool {
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && pub.Equal(cert.PublicKey)
}

// encode writes a state into a Secret. Other data and annotations of the Secret stay.
func (s state) encode(in *corev1.Secret) error {
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
		nextCertKey: nil, nextKeyKey: nil, previousKey: nil, crossKey: encodeCertificates(s.crossCerts),
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
	notes := map[string]string{maxLeafTTLAnnotation: s.maxLeafTTL.String(), phaseEndAnnotation: "",
		RotateAnnotation: "", signerNameAnnotation: s.names.signer, nextNameAnnotation: s.names.next,
		previousNameAnnotation: s.names.previous, formerDomainsAnnotation: strings.Join(s.formerDomains, " ")}
	if !s.phaseEnd.IsZero() {
		notes[phaseEndAnnotation] = s.phaseEnd.UTC().Format(time.RFC3339Nano)
	}
	if s.rotateRequested {
		notes[RotateAnnotation] = "true"
	}
	in.Data, in.Annotations = mergeNonEmpty(in.Data, data), mergeNonEmpty(in.Annotations, notes)
	return nil
}

// mergeNonEmpty returns old with the keys of set; keys with empty values are removed.
func mergeNonEmpty[V []byte | string](old, set map[string]V) map[string]V {
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

// newSecret returns the Secret of a new CA, which replaces the data of an old Secret, or is the first one.
func newSecret(old *corev1.Secret, namespace, name string, s state) (*corev1.Secret, error) {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{managedLabel: managedByValue}},
		Type: corev1.SecretTypeTLS,
	}
	if old != nil {
		out = old.DeepCopy()
		out.Data = nil
	}
	if !Managed(out) {
		out.Annotations = mergeNonEmpty(out.Annotations, map[string]string{generatedAnnotation: "true"})
	}
	return out, s.encode(out)
}
