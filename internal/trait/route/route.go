package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Certificate is the certificate of a host.
type Certificate struct {
	// Secret is the name of the Secret with the certificate. Source says where it comes from: User, CertManager or
	// BuiltIn.
	Secret, Source string
	// Objects have to exist, in the namespace of the Route.
	Objects []*unstructured.Unstructured
	// Issue writes the Secret. It is nil if there is nothing to do. It reports whether it wrote.
	Issue func(ctx context.Context, owner metav1.OwnerReference) (bool, error)
	// Due is when the certificate has to be planned again though nothing changed. It may be zero.
	Due time.Time
	// Waiting is why there is no certificate yet, or nil.
	Waiting     *provider.Reason
	Unsupported []provider.Unsupported
}

// Issuer is the issuer of a certificate. Its name is empty for the default.
type Issuer struct{ Name, Type string }

func issuerOf(tls standard.TLS) Issuer {
	return Issuer{tls.IssuerName, string(cmp.Or(tls.Type, standard.NamespaceIssuer))}
}

// Certificates plan the certificates of hosts. Plan changes nothing.
type Certificates interface {
	Writes() []schema.GroupVersionKind
	Reads() []schema.GroupVersionKind
	Plan(route provider.Route, issuer Issuer, r provider.Reader) Certificate
}

// Planner plans the objects of Routes. It implements controller.Planner.
type Planner struct {
	// Providers are in the order in which they are chosen. The first is used if the cluster has none of them.
	Providers []provider.Provider
	// Default is the name of the provider of Routes that name none, or "" for a provider that the cluster has.
	Default string
	// Certificates may be nil if no Route has TLS.
	Certificates Certificates
	Discovery    discovery.Options
}

// Kind implements controller.Planner.
func (p *Planner) Kind() schema.GroupVersionKind { return standard.RouteKind }

// Reads implements controller.Planner.
func (p *Planner) Reads() []schema.GroupVersionKind {
	return append(p.writes(), discovery.PodKind)
}

// writes are the kinds of the objects of Routes.
func (p *Planner) writes() []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{discovery.ServiceKind}
	add := func(kinds []schema.GroupVersionKind) {
		for _, k := range kinds {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	for _, one := range p.Providers {
		add(one.Writes())
	}
	if p.Certificates != nil {
		add(p.Certificates.Writes())
	}
	return out
}

// plan is the plan of one Route.
type plan struct {
	route *standard.Route
	// failure is why the Route has no objects: those that exist are kept. Waiting is why they cannot be served yet;
	// needs is that part of it which is not the state of these objects.
	failure, waiting, needs *provider.Reason
	// found says how the backends were found. The host, rules and certificate of intent are valid unless there is a
	// failure, and unless the Route is local.
	found       []discovery.Found
	backends    []provider.Backend
	intent      provider.Route
	certificate Certificate
	// choice is the provider with the reason for it, for people.
	choice      string
	objects     []*unstructured.Unstructured
	serving     []*unstructured.Unstructured // those of the provider
	service     string                       // the Service of discovered backends
	unsupported []provider.Unsupported
	addresses   []string
	issue       func(context.Context, metav1.OwnerReference) (bool, error)
	due         time.Time
	// keeps is set if objects that are no longer wanted must stay.
	keeps bool
}

// Plan implements controller.Planner.
func (p *Planner) Plan(owner *unstructured.Unstructured, r discovery.Reader) controller.Plan {
	n := p.plan(owner, r)
	out := controller.Plan{Status: n.status}
	if n.failure == nil {
		out.Objects, out.Do, out.Due = n.objects, n.issue, n.due
		if !n.keeps {
			out.Prunes = p.writes()
		}
	}
	return out
}

// plan plans a Route.
func (p *Planner) plan(owner *unstructured.Unstructured, r discovery.Reader) *plan {
	route := &standard.Route{}
	n := &plan{route: route}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Object, route); err != nil {
		route.SetName(owner.GetName())
		n.failure = &provider.Reason{Reason: "InvalidRoute", Message: fmt.Sprintf("the Route cannot be read: %v; correct the field",
			err)}
	} else {
		p.fill(n, r)
	}
	return n
}

// fill plans the objects of a Route.
func (p *Planner) fill(n *plan, r discovery.Reader) {
	found := discovery.Discover(n.route, r, p.Discovery)
	if n.failure = found.Failure; n.failure != nil {
		return
	}
	n.waiting, n.service, n.found, n.backends = found.Waiting, found.Uses, found.Found, found.Backends
	n.needs = found.Waiting
	if found.Service != nil {
		n.objects = append(n.objects, found.Service)
	}
	if isLocal(n.route.Spec.Host) {
		n.choice = "the Service only, because spec.host is empty or local"
		return
	}
	intent, failure := intentOf(n.route, found.Backends)
	if n.failure = failure; failure != nil {
		return
	}
	chosen, choice, failure := p.choose(n.route.Spec.Provider, intent.Class, r)
	if n.failure = failure; failure != nil {
		return
	}
	n.choice = choice
	if n.route.Spec.TLS != nil {
		if p.Certificates == nil {
			n.failure = &provider.Reason{Reason: "TLSNotSupported", Message: "spec.tls: this control plane issues no certificates; " +
				"remove the field"}
			return
		}
		certificate := p.Certificates.Plan(intent, issuerOf(*n.route.Spec.TLS), r)
		intent.TLS, n.certificate = &provider.TLS{Secret: certificate.Secret}, certificate
		n.objects = append(n.objects, certificate.Objects...)
		n.issue, n.due, n.unsupported = certificate.Issue, certificate.Due, certificate.Unsupported
		n.wait(certificate.Waiting)
	}
	n.intent = intent
	rendered := chosen.Render(intent, r)
	n.serving = rendered.Objects
	n.unsupported = append(n.unsupported, rendered.Unsupported...)
	n.objects = append(n.objects, rendered.Objects...)
	n.keeps = rendered.Waiting != nil
	if n.needs == nil {
		n.needs = rendered.Waiting
	}
	n.wait(rendered.Waiting)
	if rendered.Waiting == nil {
		state := chosen.State(intent, r)
		n.addresses = state.Addresses
		n.wait(state.Waiting)
	}
}

// wait sets the reason for waiting, unless there is one.
func (n *plan) wait(reason *provider.Reason) {
	if n.waiting == nil {
		n.waiting = reason
	}
}

// choose returns the provider of a name, else the default, else that of the class.
func (p *Planner) choose(name, class string, r provider.Reader) (provider.Provider, string, *provider.Reason) {
	field, why := "spec.provider", "named by spec.provider"
	if name == "" {
		name, field, why = p.Default, "the setting routeTrait.provider", "the default"
	}
	if name != "" {
		for _, one := range p.Providers {
			if slices.Contains(one.Names(), name) {
				return one, one.Names()[0] + ", " + why, nil
			}
		}
		return nil, "", &provider.Reason{Reason: "UnknownProvider", Message: fmt.Sprintf("%s: unknown provider %q; use one of %s",
			field, name, strings.Join(p.names(), ", "))}
	}
	for _, one := range p.Providers {
		if of, is := one.(provider.Classes); is && class != "" && of.ServesClass(class, r) {
			return one, one.Names()[0] + ", which serves spec.ingressClass " + class, nil
		}
	}
	for _, one := range p.Providers {
		if one.Present(r) {
			return one, one.Names()[0] + ", which the cluster has", nil
		}
	}
	if len(p.Providers) == 0 {
		return nil, "", &provider.Reason{Reason: "UnknownProvider", Message: "this control plane has no provider; set spec.host " +
			"to \"\" for a Service only"}
	}
	first := p.Providers[0]
	return first, first.Names()[0] + ", because the cluster has no other", nil
}

func (p *Planner) names() []string {
	var out []string
	for _, one := range p.Providers {
		out = append(out, one.Names()...)
	}
	return out
}

// reference returns the reference to an object, as in a status.
func reference(o *unstructured.Unstructured, outcome controller.Outcome) core.TypedReference {
	return core.TypedReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: string(outcome.UIDs[controller.KeyOf(o)]),
	}
}
