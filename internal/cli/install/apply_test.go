package install

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	if kind == "Deployment" || kind == "ConfigMap" {
		o.SetNamespace("n")
	}
	return o
}

// testObjects are the objects of an installation in apply order.
func testObjects() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object("v1", "Namespace", "n"), object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "meshes.x"),
		object("v1", "ConfigMap", "c"),
	}
}

func exists(t *testing.T, c client.Client, o *unstructured.Unstructured) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopy())
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func newCluster(funcs interceptor.Funcs, objects ...client.Object) client.WithWatch {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		panic(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).
		WithInterceptorFuncs(funcs).Build()
}

func TestApplyIsIdempotent(t *testing.T) {
	c := newCluster(interceptor.Funcs{})
	for range 2 {
		var reported []string
		if err := Apply(t.Context(), c, testObjects(), func(what string) {
			reported = append(reported, what)
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"Namespace n", "CustomResourceDefinition meshes.x", "ConfigMap c"}; !slices.Equal(reported, want) {
			t.Errorf("reported %q", reported)
		}
	}
	for _, o := range testObjects() {
		if !exists(t, c, o) {
			t.Errorf("%s %s was not created", o.GetKind(), o.GetName())
		}
	}
}

// A kind is served some time after its CRD is created.
func TestApplyWaitsForNewKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		c := newCluster(interceptor.Funcs{Apply: func(ctx context.Context, under client.WithWatch,
			o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if attempts++; attempts < 5 {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Mesh"}}
			}
			return under.Apply(ctx, o, opts...)
		}})
		if err := Apply(t.Context(), c, testObjects()[:1], func(string) {}); err != nil || attempts != 5 {
			t.Errorf("after %d attempts: got error %v", attempts, err)
		}
		attempts = -1 << 30
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Apply(ctx, c, testObjects()[:1], func(string) {}); err == nil ||
			!strings.Contains(err.Error(), "applying Namespace n") {
			t.Errorf("kind that is never served: got error %v", err)
		}
	})
}

func TestApplyStopsAtFirstError(t *testing.T) {
	c := newCluster(interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration,
		...client.ApplyOption) error {
		return errors.New("forbidden")
	}})
	reported := 0
	err := Apply(t.Context(), c, testObjects(), func(string) { reported++ })
	if err == nil || err.Error() != "applying Namespace n: forbidden" || reported != 0 {
		t.Errorf("%d objects reported, error %v", reported, err)
	}
}

func TestDeleteReversesOrderAndKeepsCRDs(t *testing.T) {
	c := newCluster(interceptor.Funcs{})
	if err := Apply(t.Context(), c, testObjects(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	var reported []string
	report := func(what string) { reported = append(reported, what) }
	objects := testObjects()
	if err := Delete(t.Context(), c, objects, true, report); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ConfigMap c", "Namespace n"}; !slices.Equal(reported, want) || !exists(t, c, objects[1]) {
		t.Errorf("reported %q", reported)
	}
	if objects[0].GetKind() != "Namespace" {
		t.Error("Delete reversed the slice of the caller")
	}
	if err := Delete(t.Context(), c, objects, false, report); err != nil || exists(t, c, objects[1]) {
		t.Errorf("deleting CRDs and objects that do not exist: %v", err)
	}
}

// Objects with the resource policy of Helm stay: they may hold what users made.
func TestDeleteKeepsAnnotatedObjects(t *testing.T) {
	kept := object("v1", "ConfigMap", "kept")
	kept.SetAnnotations(map[string]string{keepAnnotation: "keep"})
	c := newCluster(interceptor.Funcs{}, kept)
	err := Delete(t.Context(), c, []*unstructured.Unstructured{kept}, false, func(string) {})
	if err != nil || !exists(t, c, kept) {
		t.Errorf("the object is gone: %v", err)
	}
}

// An APIService of Karmada has the name of ours.
func TestDeleteKeepsObjectsOfOthers(t *testing.T) {
	theirs, ours := object("v1", "ConfigMap", "c"), object("v1", "ConfigMap", "c")
	theirs.SetLabels(map[string]string{nameLabel: "karmada-search"})
	ours.SetLabels(map[string]string{nameLabel: "anymesh-aggregator"})
	c := newCluster(interceptor.Funcs{}, theirs)
	err := Delete(t.Context(), c, []*unstructured.Unstructured{ours}, false, func(string) {})
	if err != nil || !exists(t, c, theirs) {
		t.Errorf("the object is gone: %v", err)
	}
}

// A kind that another program defined stays as it is, for example those of KubeVela.
func TestKindsOfOthersAreKept(t *testing.T) {
	const crd = "CustomResourceDefinition"
	theirs, ours := object("apiextensions.k8s.io/v1", crd, "routes.standard.oam.dev"), object("apiextensions.k8s.io/v1", crd, "routes.standard.oam.dev")
	ours.SetAnnotations(map[string]string{existsAnnotation: "keep"})
	ours.SetLabels(map[string]string{"a": "new"})
	var reported []string
	report := func(what string) { reported = append(reported, what) }
	c := newCluster(interceptor.Funcs{}, theirs)
	if err := Apply(t.Context(), c, []*unstructured.Unstructured{ours}, report); err != nil {
		t.Fatal(err)
	}
	now := object("apiextensions.k8s.io/v1", crd, "routes.standard.oam.dev")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil || len(now.GetLabels()) > 0 {
		t.Errorf("the definition of another program is changed: %v %v", now.GetLabels(), err)
	}
	if len(reported) != 1 || !strings.Contains(reported[0], "as it is: another program") {
		t.Errorf("reported %q", reported)
	}
	err := Delete(t.Context(), c, []*unstructured.Unstructured{ours}, false, report)
	if err != nil || !exists(t, c, theirs) {
		t.Errorf("the definition of another program is gone: %v", err)
	}

	c = newCluster(interceptor.Funcs{})
	for range 2 { // an upgrade applies the definition again
		if err := Apply(t.Context(), c, []*unstructured.Unstructured{ours}, report); err != nil || !exists(t, c, ours) {
			t.Fatal(err)
		}
		ours.SetLabels(map[string]string{"a": "newer"})
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil || now.GetLabels()["a"] != "newer" {
		t.Errorf("an upgrade does not change our definition: %v %v", now.GetLabels(), err)
	}
	if err := Delete(t.Context(), c, []*unstructured.Unstructured{ours}, false, report); err != nil || exists(t, c, ours) {
		t.Errorf("our definition is not deleted: %v", err)
	}
}

func TestDeleteReportsBlockedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := object("v1", "ConfigMap", "c")
		stuck.SetFinalizers([]string{"example.com/other"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Delete(ctx, newCluster(interceptor.Funcs{}, stuck), testObjects(), true, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "ConfigMap c is not removed yet; check its finalizers") {
			t.Errorf("%v", err)
		}
	})
}
