// Package certificate provides the certificates of the hosts of Routes.
//
// In: the TLS settings of a Route, and the Secrets, Issuers and Certificates of the cluster. Out: what has to exist and
// whether it is ready (Make, which does no I/O), and Secrets that the built-in authority signs (Authority).
//
// There is one certificate for a Route, in one Secret. The Secret comes from the first of these that applies:
//
//   - A Secret with that name that neither Anymesh nor the Route's Certificate wrote is the user's. It is used as is.
//   - cert-manager, if the Route names an issuer and the cluster has cert-manager.
//   - The built-in authority, whose root is in a Secret of the control plane's namespace.
package certificate

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// Kinds of cert-manager.
var (
	CertificateKind   = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Certificate"}
	IssuerKind        = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Issuer"}
	ClusterIssuerKind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "ClusterIssuer"}
)

const (
	group = "cert-manager.io"
	// certificateAnnotation names the Certificate that wrote a Secret.
	certificateAnnotation = "cert-manager.io/certificate-name"
)

// Writes are the kinds of the objects of a Plan.
func Writes() []schema.GroupVersionKind { return []schema.GroupVersionKind{CertificateKind} }

// Reads are the kinds that Make reads. It gets Secrets by name and lists none.
func Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{provider.SecretKind, CertificateKind, IssuerKind, ClusterIssuerKind}
}

// Request is the TLS of a Route.
type Request struct {
	Namespace, Route string
	// Labels are those of the Route.
	Labels map[string]string
	// Host is a DNS name, which may begin with "*.".
	Host string
	// IssuerName is empty for the built-in authority.
	IssuerName string
	// IssuerType is "Issuer" or "ClusterIssuer"; empty means Issuer.
	IssuerType string
}

// Secret returns the name of the Secret.
func (r Request) Secret() string { return provider.CertificateSecret(r.Route) }

// Source is where a certificate comes from.
type Source string

// Sources of certificates.
const (
	User        Source = "User"
	CertManager Source = "CertManager"
	BuiltIn     Source = "BuiltIn"
)

// Plan says what the certificate of a Route needs.
type Plan struct {
	Source Source
	// Objects have to exist, with an owner reference to the Route. Other Certificates of the Route must not exist.
	Objects []*unstructured.Unstructured
	// Issue says that Authority.Issue has to write the Secret now.
	Issue bool
	// Due is when Make has to be called again though nothing changed: a certificate is to be renewed, or expires. It is
	// zero if there is no such time.
	Due time.Time
	// Waiting is nil if the Secret has a valid certificate.
	Waiting     *provider.Reason
	Unsupported []provider.Unsupported
}

// Make plans the certificate of a Route. Roots are those of the built-in authority.
func Make(r Request, reader provider.Reader, roots *x509.CertPool, now time.Time) Plan {
	secret, err := read(r, reader)
	switch {
	case err != nil:
		return Plan{Source: User, Waiting: &provider.Reason{Reason: "InvalidSecret", Message: err.Error()}}
	case isUsers(r, secret):
		return users(r, secret, now)
	case r.IssuerName != "" && reader.Has(CertificateKind):
		return certManager(r, reader)
	}
	plan := builtIn(r, secret, roots, now)
	if r.IssuerName != "" {
		plan.Unsupported = []provider.Unsupported{{
			Field: "spec.tls.issuerName", Text: "the built-in authority signs the certificate, because the cluster does not " +
				"have the kind Certificate of cert-manager.io; install cert-manager for the issuer " + r.IssuerName,
		}}
	}
	return plan
}

// read returns the Secret of a Route, and nil if there is none.
func read(r Request, reader provider.Reader) (*corev1.Secret, error) {
	object := reader.Get(provider.SecretKind, r.Namespace, r.Secret())
	if object == nil {
		return nil, nil
	}
	var out corev1.Secret
	if err := provider.Typed(object, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// isUsers reports whether neither the built-in authority nor the Certificate of the Route wrote the Secret.
func isUsers(r Request, secret *corev1.Secret) bool {
	if secret == nil || secret.Annotations[certificateAnnotation] == r.Secret() {
		return false
	}
	return secret.Labels[issuedLabel] != issuedValue || secret.Annotations[certificateAnnotation] != ""
}

// users judges a Secret of the user's, which is never changed.
func users(r Request, secret *corev1.Secret, now time.Time) Plan {
	plan := Plan{Source: User}
	leaf, err := parse(secret)
	if err == nil {
		err = covers(leaf, r.Host, now)
	}
	if err != nil {
		plan.Waiting = &provider.Reason{Reason: "InvalidSecret", Message: fmt.Sprintf("Secret %s/%s, which is not managed by "+
			"Anymesh, has no valid certificate for %s: %v; repair or delete it", r.Namespace, r.Secret(), r.Host, err)}
		return plan
	}
	plan.Due = leaf.NotAfter
	return plan
}

// builtIn judges a Secret that the built-in authority writes.
func builtIn(r Request, secret *corev1.Secret, roots *x509.CertPool, now time.Time) Plan {
	plan := Plan{Source: BuiltIn}
	renew, err := renewal(r, secret, roots, now)
	if err != nil {
		plan.Issue = true
		plan.Waiting = &provider.Reason{Reason: "Issuing", Message: fmt.Sprintf("the built-in authority has to write Secret "+
			"%s/%s: %v", r.Namespace, r.Secret(), err)}
		return plan
	}
	if plan.Issue = !now.Before(renew); !plan.Issue {
		plan.Due = renew
	}
	return plan
}

// certManager plans the Certificate of a Route.
func certManager(r Request, reader provider.Reader) Plan {
	kind, namespace := IssuerKind, r.Namespace
	if r.IssuerType == ClusterIssuerKind.Kind {
		kind, namespace = ClusterIssuerKind, ""
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretName": r.Secret(),
		"dnsNames":   []any{r.Host},
		"issuerRef":  map[string]any{"group": group, "kind": kind.Kind, "name": r.IssuerName},
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
		"usages":     []any{"digital signature", "server auth"},
	}}}
	object.SetGroupVersionKind(CertificateKind)
	object.SetNamespace(r.Namespace)
	object.SetName(r.Secret())
	object.SetLabels(provider.Route{Labels: r.Labels}.Meta("").Labels)
	return Plan{
		Source: CertManager, Objects: []*unstructured.Unstructured{object},
		Waiting: certManagerState(r, reader, kind, namespace),
	}
}

func certManagerState(r Request, reader provider.Reader, kind schema.GroupVersionKind,
	namespace string) *provider.Reason {
	name := strings.TrimPrefix(namespace+"/"+r.IssuerName, "/")
	issuer := reader.Get(kind, namespace, r.IssuerName)
	if issuer == nil {
		text := fmt.Sprintf("there is no %s %s; create it", kind.Kind, name)
		if kind == IssuerKind && reader.Get(ClusterIssuerKind, "", r.IssuerName) != nil {
			text += ", or set spec.tls.type to ClusterIssuer, which exists with this name"
		}
		return &provider.Reason{Reason: "NoIssuer", Message: text}
	}
	certificate := reader.Get(CertificateKind, r.Namespace, r.Secret())
	if certificate != nil {
		ready := provider.ConditionOf(certificate.Object, "Ready", "status", "conditions")
		if ready.IsTrue(certificate.GetGeneration()) {
			return nil
		}
	}
	if c := provider.ConditionOf(issuer.Object, "Ready", "status", "conditions"); !c.IsTrue(issuer.GetGeneration()) {
		return &provider.Reason{Reason: "IssuerNotReady", Message: fmt.Sprintf("%s is not ready: %s",
			provider.Describe(issuer), c.Describe(issuer.GetGeneration()))}
	}
	if certificate == nil {
		return &provider.Reason{Reason: "Creating", Message: fmt.Sprintf("Certificate %s/%s does not exist yet", r.Namespace,
			r.Secret())}
	}
	c := provider.ConditionOf(certificate.Object, "Ready", "status", "conditions")
	text := fmt.Sprintf("%s is not ready: %s", provider.Describe(certificate), c.Describe(certificate.GetGeneration()))
	if last := provider.ConditionOf(certificate.Object, "Issuing", "status", "conditions"); last.Message != "" {
		text += "; " + last.Describe(0)
	}
	return &provider.Reason{Reason: "CertificateNotReady", Message: text}
}
