package controlplane

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// authority returns the current certificate authority and trust bundle. Both change when the root is rotated.
type authority interface {
	Current() *identity.CA
	Bundle() *identity.Bundle
}

// caStoreOptions returns the options of the CA store.
func (c Config) caStoreOptions(metrics prometheus.Registerer) identity.CAStoreOptions {
	return identity.CAStoreOptions{
		Namespace: c.Namespace, TrustDomain: c.TrustDomain, Lifetime: c.CertificateLifetime,
		RootLifetime: c.RootLifetime,
		Registerer:   metrics, Logger: c.Log,
	}
}

// certificateLifetime returns the lifetime of the certificates of pods in a namespace; 0 means CertificateLifetime. The
// rotation of the root takes it into account.
func (cp *controlPlane) certificateLifetime(namespace string) time.Duration {
	lifetime := cp.admission.certificateLifetime(namespace)
	cp.caStore.WillIssue(lifetime)
	return lifetime
}

// roots returns the roots that objects plan.
func (cp *controlPlane) roots() []dialect.Root {
	var out []dialect.Root
	for _, d := range dialect.Implementing[dialect.Roots](cp.dialects) {
		var objects []client.Object
		for _, kind := range d.RootReads() {
			objects = append(objects, cp.engine.ObjectsOf(kind)...)
		}
		out = append(out, d.Roots(objects)...)
	}
	return out
}

// rootPlan returns the plan of objects for the roots.
func (cp *controlPlane) rootPlan() identity.Plan {
	plan := identity.Plan{Unknown: !cp.engine.Ready(), TrustDomains: map[string]string{}}
	for _, root := range cp.roots() {
		name := root.Origin.Object().String()
		if root.Active && plan.Active == "" {
			plan.Active = name
		} else {
			plan.Passive = append(plan.Passive, name)
		}
		plan.TrustDomains[name] = root.TrustDomain
	}
	return plan
}

// trustIn returns the pods with a sidecar, and those that have confirmed a bundle to this replica.
func (cp *controlPlane) trustIn(b *identity.Bundle) (of identity.Trust, known bool) {
	if !cp.assembled.Load() || !cp.engine.Ready() {
		return of, false
	}
	for _, o := range cp.engine.ObjectsOf(&engine.Pod{}) {
		if pod := o.(*engine.Pod); pod.HasProxy() && !pod.Terminated && len(pod.Addresses()) > 0 {
			of.Pods = append(of.Pods, pod.UID)
		}
	}
	for _, d := range cp.withAgents() {
		of.Trusting = append(of.Trusting, d.deliverer.Confirmed(b.PEM())...)
	}
	return of, true
}

// withAgents lists the drivers with xDS servers, to which the agents of all pods connect.
func (cp *controlPlane) withAgents() (out []*driver) {
	for _, d := range append(slices.Clip(cp.drivers), cp.names) {
		if d != nil && d.xds != nil {
			out = append(out, d)
		}
	}
	return out
}

// publishAuthority tells all agents the current authority, and sidecars its trust domains. Agents renew certificates of
// another signer.
func (cp *controlPlane) publishAuthority() {
	ca := cp.ca.Current()
	cp.engine.SetTrustDomains(cp.caStore.TrustDomains())
	for _, d := range cp.withAgents() {
		if err := d.deliverer.SetAuthority(ca.IssuerPEM(), ca.Bundle().PEM()); err != nil {
			cp.Log.Error("agents get no roots before they renew their certificates", "error", err)
		}
	}
}

// rootFindings returns a finding for each object that plans a root if the CA is that of a user, for an active object
// whose root does not sign yet, and for others that wait for the end of a rotation.
func (cp *controlPlane) rootFindings() []model.Finding {
	status := cp.caStore.Status()
	var out []model.Finding
	for _, root := range cp.roots() {
		name := root.Origin.Object().String()
		switch {
		case !status.Managed:
			out = append(out, model.NewFinding(root.Origin, model.CodeNoEffect, fmt.Sprintf(
				"has no effect: the CA in Secret %s/%s is not managed by Anymesh", cp.Namespace, identity.CASecret)))
		case root.Active && !cp.signs(status, root):
			f := model.NewFinding(root.Origin, model.CodeNoEffect, "does not sign yet: all sidecars have to trust it "+
				"before, also if it never was passive; \"anymesh identity status\" shows until when")
			f.Severity = model.Info
			out = append(out, f)
		case !root.Active && len(status.Roots) > 1 && !has(status, name):
			out = append(out, model.NewFinding(root.Origin, model.CodeNoEffect,
				"has no effect yet: at most two roots are trusted, and the rotation of two others has not ended"))
		}
	}
	return out
}

// rootsChanged follows changes of the objects that plan roots, on which rootFindings depends.
func (cp *controlPlane) rootsChanged(change engine.Change) {
	for _, d := range dialect.Implementing[dialect.Roots](cp.dialects) {
		for _, kind := range d.RootReads() {
			is := func(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(kind) }
			if slices.ContainsFunc(change.Objects, is) || slices.ContainsFunc(change.Deleted, is) {
				cp.writer.Wake()
				return
			}
		}
	}
}

// has reports whether a root is that of an object.
func has(status identity.Status, name string) bool {
	return slices.ContainsFunc(status.Roots, func(r identity.Root) bool { return r.Name == name })
}

// signs reports whether the root of an object signs: one in its trust domain that has its name, or none yet.
func (cp *controlPlane) signs(status identity.Status, root dialect.Root) bool {
	name := root.Origin.Object().String()
	return cmp.Or(root.TrustDomain, cp.TrustDomain) == status.TrustDomain &&
		slices.ContainsFunc(status.Roots, func(r identity.Root) bool {
			return r.Role == identity.RoleSigning && (r.Name == name || r.Name == "")
		})
}

// dumpIdentity writes the roots and the state of their rotation, without keys.
func (cp *controlPlane) dumpIdentity() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, cp.caStore.Status()) })
}

// serviceCertificate describes the current certificate of the control plane to drivers.
func (cp *controlPlane) serviceCertificate() *sidecar.Certificate {
	return &sidecar.Certificate{
		CommonName: sidecar.CommonName(cp.service()), CertChain: cp.serving.ChainPEM(), IssuingCA: cp.ca.Bundle().PEM(),
		Expiration: cp.serving.NotAfter(),
	}
}

// registerServingExpiry registers a metric with the expiry of the control plane's serving certificate.
func (cp *controlPlane) registerServingExpiry() {
	cp.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "anymesh_identity_serving_expiry_timestamp_seconds",
		Help: "Expiry of the control plane's serving certificate, in Unix time.",
	}, func() float64 { return float64(cp.serving.NotAfter().Unix()) }))
}
