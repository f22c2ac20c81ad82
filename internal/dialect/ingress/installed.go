package ingress

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
)

// Installed returns the dialect as the Helm value ingress.enabled configures it, with the objects of the chart that its
// rules read, for manifests without a cluster.
func (d Dialect) Installed() (dialect.Dialect, []client.Object) {
	d.Enabled = true
	var objects []client.Object
	d.Gateway, objects = d.Gateway.Installed(dialect.DefaultTrustDomain)
	return d, append(objects, &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: api.Class}, Spec: networkingv1.IngressClassSpec{Controller: api.Controller},
	})
}
