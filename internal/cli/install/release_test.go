package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"anymesh.dev/anymesh/internal/dialect"
)

const foreignFinalizer = "example.com/mine"

// appMesh returns an App Mesh object with finalizers.
func appMesh(kind, namespace, name string, finalizers ...string) *unstructured.Unstructured {
	o := object("appmesh.k8s.aws/v1beta2", kind, name)
	o.SetNamespace(namespace)
	o.SetFinalizers(finalizers)
	return o
}

func appMeshCluster(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := dialect.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

// The finalizers of a dialect are removed from all kinds, also if an object changes at the same time. Other finalizers
// stay, and objects without finalizers are not changed.
func TestReleaseFinalizers(t *testing.T) {
	mesh := appMesh("Mesh", "", "m", "finalizers.appmesh.k8s.aws/mesh-members", foreignFinalizer)
	gateway := appMesh("VirtualGateway", "a", "g", "finalizers.appmesh.k8s.aws/virtualgateway-members",
		"finalizers.appmesh.k8s.aws/aws-appmesh-resources")
	node := appMesh("VirtualNode", "a", "n", foreignFinalizer)
	patches := map[string]int{}
	c := appMeshCluster(t, interceptor.Funcs{Patch: func(ctx context.Context, under client.WithWatch, o client.Object,
		p client.Patch, opts ...client.PatchOption) error {
		if patches[o.GetName()]++; o.GetName() == "m" && patches["m"] == 1 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "meshes"}, "m", errors.New("it changed"))
		}
		return under.Patch(ctx, o, p, opts...)
	}}, mesh, gateway, node)
	var reported []string
	report := func(what string) { reported = append(reported, what) }
	for range 2 {
		if err := ReleaseFinalizers(t.Context(), c, dialect.All(), report); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(reported)
	if want := []string{"finalizers of Mesh m", "finalizers of VirtualGateway a/g"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q", reported)
	}
	if got := fmt.Sprint(patches); got != "map[g:1 m:2]" {
		t.Errorf("patches: %s", got)
	}
	for o, want := range map[*unstructured.Unstructured][]string{mesh: {foreignFinalizer}, gateway: nil, node: {foreignFinalizer}} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if got := o.GetFinalizers(); !slices.Equal(got, want) {
			t.Errorf("%s has finalizers %q", o.GetName(), got)
		}
	}
}

// Kinds without a CustomResourceDefinition have no objects. Other errors end the uninstallation before it deletes the
// definitions.
func TestReleaseFinalizersErrors(t *testing.T) {
	for name, c := range map[string]struct{ listing, want error }{
		"no kind":   {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Mesh"}}, nil},
		"not found": {apierrors.NewNotFound(schema.GroupResource{}, ""), nil},
		"forbidden": {errors.New("forbidden"), errors.New("listing BackendGroup objects: forbidden")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := appMeshCluster(t, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch,
				list client.ObjectList, _ ...client.ListOption) error {
				if _, metadataOnly := list.(*metav1.PartialObjectMetadataList); !metadataOnly {
					t.Errorf("the list %T has whole objects", list)
				}
				return c.listing
			}})
			definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "meshes.x")
			if err := cluster.Create(t.Context(), definition.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			err := Delete(t.Context(), cluster, []*unstructured.Unstructured{definition}, false, func(string) {})
			if fmt.Sprint(err) != fmt.Sprint(c.want) || exists(t, cluster, definition) != (c.want != nil) {
				t.Errorf("got error %v; the definition exists: %v", err, exists(t, cluster, definition))
			}
		})
	}
}

// Helm runs the Job after it deleted the control plane; anymesh install does not create it.
func TestHooks(t *testing.T) {
	hooks, err := Hooks(Options{Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	job := find(t, hooks, "Job", "anymesh-release-finalizers")
	containers, _, _ := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
	command, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	if !slices.Equal(command, []string{"anymesh", "release-finalizers"}) {
		t.Errorf("command %q", command)
	}
	for _, hook := range hooks {
		if when := hook.GetAnnotations()["helm.sh/hook"]; when != "post-delete" {
			t.Errorf("%s: Helm creates it at %q", hook.GetKind(), when)
		}
		for _, o := range render(t, Options{Namespace: "n"}) {
			if o.GetKind() == hook.GetKind() && o.GetName() == hook.GetName() {
				t.Errorf("install creates %s %s", o.GetKind(), o.GetName())
			}
		}
	}
}
