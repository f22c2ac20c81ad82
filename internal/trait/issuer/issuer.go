// Package issuer gives Routes their certificates.
//
// In: Routes with TLS and their issuers. Out: what has to exist for their certificates, and Secrets that the built-in
// authority writes.
package issuer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
)

// Certificates implements route.Certificates.
type Certificates struct{ Authority certificate.Authority }

// Writes returns the kinds of the objects of certificates.
func (Certificates) Writes() []schema.GroupVersionKind { return certificate.Writes() }

// Reads returns the kinds that plans read.
func (Certificates) Reads() []schema.GroupVersionKind { return certificate.Reads() }

// Plan plans the certificate of a Route.
func (c Certificates) Plan(r provider.Route, by route.Issuer, reader provider.Reader) route.Certificate {
	request := certificate.Request{
		Namespace: r.Namespace, Route: r.Name, Labels: r.Labels, Host: r.Host, IssuerName: by.Name, IssuerType: by.Type,
	}
	plan := certificate.Make(request, reader, c.Authority.CA.Current().Bundle().Pool(), time.Now())
	out := route.Certificate{
		Secret: request.Secret(), Objects: plan.Objects, Due: plan.Due, Waiting: plan.Waiting, Unsupported: plan.Unsupported,
	}
	if plan.Issue {
		out.Issue = func(ctx context.Context, owner metav1.OwnerReference) (bool, error) {
			return c.Authority.Issue(ctx, request, owner)
		}
	}
	return out
}
