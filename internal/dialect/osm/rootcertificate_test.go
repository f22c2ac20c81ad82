package osm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
)

// Objects that have no effect are no roots; of several active ones, the oldest signs.
func TestRootsOfTheMesh(t *testing.T) {
	var objects []client.Object
	add := func(name, provider, domain, role string) {
		objects = append(objects, &config.MeshRootCertificate{
			ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: name,
				CreationTimestamp: metav1.NewTime(time.Unix(int64(100-len(objects)), 0))},
			Spec: config.MeshRootCertificateSpec{Role: role, TrustDomain: domain,
				Provider: map[string]apiextensionsv1.JSON{provider: {Raw: []byte("{}")}}},
		})
	}
	add("younger", "tresor", "", "active")
	add("active", "tresor", "cluster.local", "active")
	add("passive", "tresor", "", "passive")
	add("inactive", "tresor", "", "inactive")
	add("foreign", "certManager", "", "active")
	add("domain", "tresor", "example.com", "passive")
	add("invalid", "tresor", "Example", "active")
	add("role", "tresor", "", "main")
	if got := (Dialect{}).Roots(objects); got != nil {
		t.Errorf("without a MeshConfig that enables them: %v", got)
	}
	var got []string
	objects = append(objects, meshConfigWith("featureFlags.enableMeshRootCertificate", "true"))
	for _, root := range (Dialect{}).Roots(objects) {
		got = append(got, fmt.Sprint(root.Origin.Object().Name, " ", root.Active, " ", root.TrustDomain))
	}
	want := []string{"domain false example.com", "passive false ", "active true cluster.local", "younger false "}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
