package gateway

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Installed returns the settings for manifests without a cluster, and the objects of the chart that the rules of the
// gateway read.
func (s Settings) Installed(trustDomain string) (Settings, []client.Object) {
	s.WithoutEndpoints = true
	s.Namespace = cmp.Or(s.Namespace, DefaultNamespace)
	s.TrustDomain = cmp.Or(s.TrustDomain, trustDomain)
	return s, []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Labels: map[string]string{Label: Name}}},
	}
}
