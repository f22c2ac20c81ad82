package install

import (
	"path"
	"slices"
	"testing"

	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
)

// inCluster has the objects of a cluster, for the function lookup of templates.
type inCluster []runtime.Object

// GetClientFor implements engine.ClientProvider.
func (c inCluster) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	client := fake.NewSimpleDynamicClient(scheme.Scheme, c...)
	resource := map[string]schema.GroupVersionResource{
		"Secret":    {Version: "v1", Resource: "secrets"},
		"ConfigMap": {Version: "v1", Resource: "configmaps"},
		"Lease":     {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	}[kind]
	return client.Resource(resource), true, nil
}

// The chart creates the objects that the control plane fills, and does not own what they contain. It leaves alone those
// of users and older versions: Helm would refuse to take them over.
func TestStateOfTheControlPlane(t *testing.T) {
	own := map[string]string{"meta.helm.sh/release-name": "anymesh"}
	for what, c := range map[string]struct {
		found  *corev1.Secret
		secret bool
	}{
		"first installation":                   {nil, true},
		"upgrade of the release":               {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: own}}, true},
		"Secret of a user or an older version": {&corev1.Secret{Type: corev1.SecretTypeTLS}, false},
	} {
		t.Run(what, func(t *testing.T) {
			var cluster inCluster
			if c.found != nil {
				c.found.Namespace, c.found.Name = "n", "anymesh-ca"
				cluster = inCluster{c.found}
			}
			loaded, values, err := load(Options{Namespace: "n"})
			if err != nil {
				t.Fatal(err)
			}
			texts, err := engine.RenderWithClientProvider(loaded, values, cluster)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for file, text := range texts {
				if path.Base(file) != "state.yaml" {
					continue
				}
				objects, err := decode([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range objects {
					kinds = append(kinds, o.GetKind())
					if len(o.Object) != 3 || o.GetAnnotations()[keepAnnotation] != "keep" || o.GetLabels()["app.kubernetes.io/managed-by"] != "" {
						t.Errorf("%s with fields of its own: %v", o.GetKind(), o.Object)
					}
				}
			}
			if slices.Contains(kinds, "Secret") != c.secret || !slices.Contains(kinds, "Lease") || !slices.Contains(kinds, "ConfigMap") {
				t.Errorf("kinds %v", kinds)
			}
		})
	}
}
