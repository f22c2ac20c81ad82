// Package issuer gives Routes their certificates.
//
// In: Routes with TLS and their issuers. Out: what has to exist for their certificates, and Secrets that the built-in
// authority writes.
package issuer

import (
	"context"
	"crypto/x509"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
)

// Plans plan certificates, and issue none. They implement route.Certificates.
type Plans struct {
	// Roots are those of the built-in authority. It must not be nil.
	Roots *x509.CertPool
}

// Writes returns the kinds of the objects of certificates.
func (Plans) Writes() []schema.GroupVersionKind { return certificate.Writes() }

// Reads returns the kinds that plans read.
func (Plans) Reads() []schema.GroupVersionKind { return certificate.Reads() }

// Plan plans the certificate of a Route.
func (p Plans) Plan(r provider.Route, by route.Issuer, reader provider.Reader) route.Certificate {
	out, _ := p.plan(requestOf(r, by), reader)
	return out
}

func requestOf(r provider.Route, by route.Issuer) certificate.Request {
	return certificate.Request{
		Namespace: r.Namespace, Route: r.Name, Labels: r.Labels, Host: r.Host, IssuerName: by.Name, IssuerType: by.Type,
	}
}

// plan plans a certificate, and reports whether the built-in authority has to issue it.
func (p Plans) plan(request certificate.Request, reader provider.Reader) (route.Certificate, bool) {
	plan := certificate.Make(request, reader, p.Roots, time.Now())
	return route.Certificate{
		Secret: request.Secret(), Source: string(plan.Source), Objects: plan.Objects, Due: plan.Due, Waiting: plan.Waiting,
		Unsupported: plan.Unsupported,
	}, plan.Issue
}

// Certificates plan certificates, and issue those of the built-in authority. They implement route.Certificates.
type Certificates struct{ Authority certificate.Authority }

// Writes returns the kinds of the objects of certificates.
func (Certificates) Writes() []schema.GroupVersionKind { return certificate.Writes() }

// Reads returns the kinds that plans read.
func (Certificates) Reads() []schema.GroupVersionKind { return certificate.Reads() }

// Plan plans the certificate of a Route.
func (c Certificates) Plan(r provider.Route, by route.Issuer, reader provider.Reader) route.Certificate {
	request := requestOf(r, by)
	out, issue := Plans{c.Authority.CA.Current().Bundle().Pool()}.plan(request, reader)
	if issue {
		out.Issue = func(ctx context.Context, owner metav1.OwnerReference) (bool, error) {
			return c.Authority.Issue(ctx, request, owner)
		}
	}
	return out
}
