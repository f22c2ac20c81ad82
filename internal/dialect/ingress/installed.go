package ingress

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/gateway"
)

// Installed returns the dialect as the Helm value ingress.enabled configures it, with the objects of the chart that its
// rules read, for manifests without a cluster.
func (d Dialect) Installed() (dialect.Dialect, []client.Object) {
	d.Enabled, d.Gateway.WithoutEndpoints = true, true
	if d.Gateway.Namespace == "" {
		d.Gateway.Namespace = d.Values().(values).Namespace
	}
	if d.Gateway.TrustDomain == "" {
		d.Gateway.TrustDomain = dialect.DefaultTrustDomain
	}
	return d, []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Gateway.Namespace, Labels: map[string]string{gateway.Label: gateway.Name}}},
		&networkingv1.IngressClass{
			ObjectMeta: metav1.ObjectMeta{Name: api.Class}, Spec: networkingv1.IngressClassSpec{Controller: api.Controller},
		},
	}
}
