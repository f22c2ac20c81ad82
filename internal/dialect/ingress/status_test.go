package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// TestStatusOfConflicts checks the ports in the status: an Ingress whose paths all belong to other objects has an
// error, and no other one has.
func TestStatusOfConflicts(t *testing.T) {
	paths := make([]networkingv1.HTTPIngressPath, 2)
	o := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}},
	}}}}
	conflict := func(path string) model.Finding { return model.Finding{Code: model.CodeNameConflict, Path: path} }
	first, second := conflict("spec.rules[0].http.paths[0]"), conflict("spec.rules[0].http.paths[1]")
	for name, c := range map[string]struct {
		findings []model.Finding
		want     bool
	}{
		"no conflict":     {nil, false},
		"one of two":      {[]model.Finding{first}, false},
		"a certificate":   {[]model.Finding{first, conflict("spec.tls[0]")}, false},
		"both":            {[]model.Finding{first, second}, true},
		"another finding": {[]model.Finding{first, {Code: model.CodeReferenceNotFound, Path: second.Path}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := dialect.StatusInput{State: addresses{"10.0.0.1"}, Findings: c.findings}
			entry := Dialect{}.Status(o, in).(*networkingv1.Ingress).Status.LoadBalancer.Ingress[0]
			got := len(entry.Ports) == 1 && *entry.Ports[0].Error == api.NameConflict
			if got != c.want || entry.IP != "10.0.0.1" {
				t.Errorf("got %+v, want an error: %v", entry, c.want)
			}
		})
	}
}
