package osm

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
)

func rootObject(name, role string) *config.MeshRootCertificate {
	return &config.MeshRootCertificate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: name},
		Spec: config.MeshRootCertificateSpec{Role: role, TrustDomain: "cluster.local",
			Provider: map[string]apiextensionsv1.JSON{"tresor": {Raw: []byte(`{"ca": {"secretRef": {"name": "a"}}}`)}}},
	}
}

func TestRefusedRoots(t *testing.T) {
	changed := func(o *config.MeshRootCertificate, change func(*config.MeshRootCertificateSpec)) client.Object {
		change(&o.Spec)
		return o
	}
	both := []client.Object{rootObject("one", "active"), rootObject("two", "passive")}
	for name, c := range map[string]struct {
		before, object client.Object
		others         []client.Object
		want           string // empty if it is admitted
	}{
		"new active":    {nil, rootObject("one", "active"), nil, ""},
		"new passive":   {nil, rootObject("two", "passive"), both[:1], ""},
		"new inactive":  {nil, rootObject("three", "inactive"), both, ""},
		"second active": {nil, rootObject("two", "active"), both[:1], "spec.role: only one object can be active, and osm-system/one is"},
		"becomes the second active": {rootObject("two", "passive"), rootObject("two", "active"), both,
			"spec.role: only one object can be active, and osm-system/one is"},
		"becomes active": {rootObject("two", "passive"), rootObject("two", "active"),
			[]client.Object{rootObject("one", "passive"), rootObject("two", "passive")}, ""},
		"third":                {nil, rootObject("three", "passive"), both, "spec.role: at most 2 objects can be active or passive"},
		"third by its role":    {rootObject("three", "inactive"), rootObject("three", "passive"), both, "at most 2 objects"},
		"passive":              {rootObject("one", "active"), rootObject("one", "passive"), both, ""},
		"inactive":             {rootObject("two", "passive"), rootObject("two", "inactive"), both, ""},
		"passive again":        {rootObject("two", "inactive"), rootObject("two", "passive"), both[:1], ""},
		"active to inactive":   {rootObject("one", "active"), rootObject("one", "inactive"), both, "spec.role: cannot change from active to inactive"},
		"inactive to active":   {rootObject("two", "inactive"), rootObject("two", "active"), nil, "spec.role: cannot change from inactive to active"},
		"unchanged and second": {rootObject("two", "active"), rootObject("two", "active"), []client.Object{rootObject("one", "active")}, ""},
		"same provider": {rootObject("one", "active"), changed(rootObject("one", "active"), func(s *config.MeshRootCertificateSpec) {
			s.SpiffeEnabled = true
			s.Provider["tresor"] = apiextensionsv1.JSON{Raw: []byte(`{"ca":{"secretRef":{"name":"a"}}}`)}
		}), nil, ""},
		"another Secret": {rootObject("one", "active"), changed(rootObject("one", "active"), func(s *config.MeshRootCertificateSpec) {
			s.Provider["tresor"] = apiextensionsv1.JSON{Raw: []byte(`{"ca":{"secretRef":{"name":"b"}}}`)}
		}), nil, "spec.provider: cannot be changed"},
		"another provider": {rootObject("one", "active"), changed(rootObject("one", "active"), func(s *config.MeshRootCertificateSpec) {
			s.Provider = map[string]apiextensionsv1.JSON{"vault": {Raw: []byte(`{}`)}}
		}), nil, "spec.provider: cannot be changed"},
		"no provider": {nil, changed(rootObject("one", "inactive"), func(s *config.MeshRootCertificateSpec) { s.Provider = nil }),
			nil, "spec.provider: requires one of"},
		"another trust domain": {rootObject("one", "active"), changed(rootObject("one", "active"),
			func(s *config.MeshRootCertificateSpec) { s.TrustDomain = "other" }), nil, "spec.trustDomain: cannot be changed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Dialect{}.Refuse(c.before, c.object, c.others)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
