package controlplane

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/identity"
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
