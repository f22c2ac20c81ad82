package gatewayapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
)

// Installed returns the dialect as the Helm value ingress.gatewayAPI.enabled configures it, with the objects of the
// chart that its rules read, for manifests without a cluster.
func (d Dialect) Installed() (dialect.Dialect, []client.Object) {
	d.Enabled = true
	var objects []client.Object
	d.Gateway, objects = d.Gateway.Installed(dialect.DefaultTrustDomain)
	return d, append(objects, &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: api.Class}, Spec: gatewayv1.GatewayClassSpec{ControllerName: api.Controller},
	})
}
