package appmesh_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// Each bound that App Mesh checked behind its schema, on both sides.
func TestWhatAppMeshRefusedBehindItsSchema(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	names := func(n int) *api.SubjectAlternativeNames {
		return &api.SubjectAlternativeNames{Match: api.SubjectAlternativeNameMatchers{Exact: []string{"ok", text(n)}}}
	}
	policy := func(n int) *api.ClientPolicy {
		return &api.ClientPolicy{TLS: &api.ClientPolicyTLS{Validation: api.TLSValidation{SubjectAlternativeNames: names(n)}}}
	}
	format := func(f api.LoggingFormat) *api.Logging {
		return &api.Logging{AccessLog: &api.AccessLog{File: &api.FileAccessLog{Path: "/dev/stdout", Format: &f}}}
	}
	for _, c := range []struct {
		path   string
		limit  int
		set    func(*api.VirtualNodeSpec, int)
		beyond int
	}{
		{"spec.listeners[0].healthCheck.port", 8080, func(s *api.VirtualNodeSpec, n int) {
			s.Listeners[0].HealthCheck = &api.HealthCheck{Protocol: "http", Port: new(api.PortNumber(n))}
		}, 8081},
		{"spec.listeners[0].tls.validation.subjectAlternativeNames.match.exact[1]", 254, func(s *api.VirtualNodeSpec, n int) {
			s.Listeners[0].TLS = &api.ListenerTLS{Mode: "STRICT", Validation: &api.ListenerTLSValidation{SubjectAlternativeNames: names(n)}}
		}, 255},
		{"spec.backendDefaults.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[1]", 254, func(s *api.VirtualNodeSpec, n int) {
			s.BackendDefaults = &api.BackendDefaults{ClientPolicy: policy(n)}
		}, 255},
		{"spec.backends[0].virtualService.clientPolicy.tls.validation.subjectAlternativeNames.match.exact[1]", 254, func(s *api.VirtualNodeSpec, n int) {
			s.Backends = []api.Backend{{VirtualService: api.VirtualServiceBackend{VirtualServiceRef: &api.VirtualServiceReference{Name: "s"}, ClientPolicy: policy(n)}}}
		}, 255},
		{"spec.logging.accessLog.file.format.text", 1000, func(s *api.VirtualNodeSpec, n int) { s.Logging = format(api.LoggingFormat{Text: new(text(n))}) }, 1001},
		{"spec.logging.accessLog.file.format.json[0].key", 100, func(s *api.VirtualNodeSpec, n int) {
			s.Logging = format(api.LoggingFormat{JSON: []api.JSONFormatEntry{{Key: text(n), Value: "v"}}})
		}, 101},
		{"spec.logging.accessLog.file.format.json[0].value", 100, func(s *api.VirtualNodeSpec, n int) {
			s.Logging = format(api.LoggingFormat{JSON: []api.JSONFormatEntry{{Key: "k", Value: text(n)}}})
		}, 101},
	} {
		for n, refused := range map[int]bool{c.limit: false, c.beyond: true} {
			o := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "n"}, Spec: api.VirtualNodeSpec{
				PodSelector:      &metav1.LabelSelector{MatchLabels: map[string]string{"app": "n"}},
				Listeners:        []api.Listener{{PortMapping: api.PortMapping{Port: 8080, Protocol: "http"}}},
				ServiceDiscovery: &api.ServiceDiscovery{DNS: &api.DNSServiceDiscovery{Hostname: "n.a"}},
			}}
			c.set(&o.Spec, n)
			err := appmesh.ValidateCreate(o)
			if refused != (err != nil) || refused && !strings.Contains(err.Error(), c.path+": ") {
				t.Errorf("%s with %d: %v", c.path, n, err)
			}
		}
	}
}
