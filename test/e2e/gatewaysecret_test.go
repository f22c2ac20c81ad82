package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// securedGatewayManifests are a Gateway whose Secret does not exist, and its HTTPRoute.
const securedGatewayManifests = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: sites, name: secured}
spec:
  gatewayClassName: anymesh
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: secured}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: sites, name: secured}
spec:
  parentRefs: [{name: secured}]
  hostnames: [secured.sites.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`

// gatewayWithoutCertificate checks that the conditions of a listener say that its Secret is missing, or broken, until
// it has a certificate.
func gatewayWithoutCertificate(t *testing.T) {
	t.Helper()
	apply(t, securedGatewayManifests)
	conditions := func(what, want string) {
		t.Helper()
		eventually(t, 90*time.Second, what, func() error {
			got := run(t, "-n", "sites", "get", "gateway", "secured", "-o", `jsonpath={range .status.listeners[0].conditions[*]}`+
				`{.type}={.status} {.reason} {.message}{"\n"}{end}`)
			if !strings.Contains(got, want) {
				return fmt.Errorf("conditions %s, want %s", got, want)
			}
			return nil
		})
	}
	conditions("the condition without Secret", "ResolvedRefs=False InvalidCertificateRef spec.listeners[0]."+
		"tls.certificateRefs[0]: Secret sites/secured: it does not exist")
	secrets := lab.kube.CoreV1().Secrets("sites")
	data := newAuthority(t).serving(t, "secured.sites.example")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secured"}, Data: map[string][]byte{
		corev1.TLSCertKey: data[corev1.TLSCertKey],
	}}
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	conditions("the condition without key", "Programmed=False Invalid spec.listeners[0].tls.certificateRefs[0]: "+
		"Secret sites/secured: it has no tls.key")
	secret.Data = data
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	conditions("the condition with a certificate", "ResolvedRefs=True")
	conditions("the condition with a certificate", "Programmed=True")
}
