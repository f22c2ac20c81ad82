package delivery_test

import (
	"testing"
	"time"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// edge is a VirtualGateway whose certificate has an ARN.
const edge = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {name: edge, namespace: a}
spec:
  namespaceSelector: {}
  podSelector: {matchLabels: {app: edge}}
  listeners:
    - portMapping: {port: 8443, protocol: http}
      tls: {mode: STRICT, certificate: {acm: {certificateARN: "arn:aws:acm:eu-west-1:1:certificate/edge"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: edge-1, namespace: a, uid: e1, labels: {app: edge}}}
`

// TestCertificateOfGatewayByARN checks that the condition of a VirtualGateway says why its pods cannot use the Secret
// of an ARN, until they can.
func TestCertificateOfGatewayByARN(t *testing.T) {
	f := newFixtureOf(t, appmesh.Dialect{Settings: appmesh.Settings{ACM: appmesh.ACM{
		Certificates: map[string]string{"arn:aws:acm:eu-west-1:1:certificate/edge": "edge-acm"},
	}}}, xds.Options{})
	f.applyYAML(t, edge)
	const dir = "/var/run/secrets/appmesh.k8s.aws/edge-acm"
	const name = "sds_ingress_certificate_" + dir + "/tls.crt~" + dir + "/tls.key"
	const secrets = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	gateway := model.Key{Mesh: "m", Name: "virtualGateway/edge_a"}
	version := f.VersionOf(gateway, xds.Ref{TypeURL: secrets, Name: name})
	if version == "" {
		t.Fatalf("%s has no secret %s", gateway, name)
	}
	condition := func() api.Condition {
		for _, o := range f.objects() {
			if g, is := o.(*api.VirtualGateway); is {
				in := dialect.StatusInput{Mesh: "m", Findings: f.Findings(), Now: time.Unix(1_700_000_000, 0)}
				return appmesh.Dialect{}.Status(g, in).(*api.VirtualGateway).Status.Conditions[0]
			}
		}
		t.Fatal("there is no VirtualGateway")
		return api.Condition{}
	}
	for _, problem := range []string{
		"pod a/edge-1: open " + dir + "/tls.crt: no such file or directory",
		"pod a/edge-1: " + dir + "/tls.crt with " + dir + "/tls.key: tls: private key does not match public key",
	} {
		f.Nacked(gateway.String(), "e1", secrets, map[string]string{name: version}, problem)
		want := "spec.listeners[0].tls: the envoy sidecars of workload " + gateway.String() + " reject " + name + ": " + problem
		if c := condition(); c.Status != "False" || c.Reason != "RejectedBySidecar" || c.Message != want {
			t.Errorf("condition is %s %s %s\nwant %s", c.Status, c.Reason, c.Message, want)
		}
		f.Acked(gateway.String(), "e1", secrets, "1", nil)
		if c := condition(); c.Status != "True" || c.Reason != appmesh.ReasonServed || c.Message != "" {
			t.Errorf("condition with a valid Secret is %s %s %s", c.Status, c.Reason, c.Message)
		}
	}
}
