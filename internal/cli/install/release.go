package install

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// listLimit is the number of objects in one response.
const listLimit = 500

// ReleaseFinalizers removes the finalizers that the control plane handles from all objects, so that they can be deleted
// without it. The control plane must not run: it adds them again. It calls report for each object.
func ReleaseFinalizers(ctx context.Context, c client.Client, dialects []dialect.Dialect, report func(string)) error {
	return EachFinalized(ctx, c, dialects, func(o *metav1.PartialObjectMetadata, ours []string) error {
		if err := release(ctx, c, o, ours); err != nil {
			return fmt.Errorf("removing the finalizers of %s: %w", FinalizedName(o), err)
		}
		report("finalizers of " + FinalizedName(o))
		return nil
	})
}

// FinalizedName is the kind, namespace and name of an object.
func FinalizedName(o *metav1.PartialObjectMetadata) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// EachFinalized calls each for all objects with a finalizer that the control plane handles; ours are these. Kinds that
// the API server does not serve are skipped.
func EachFinalized(ctx context.Context, c client.Client, dialects []dialect.Dialect,
	each func(o *metav1.PartialObjectMetadata, ours []string) error) error {
	for _, d := range dialect.Implementing[dialect.Finalizers](dialects) {
		definitions, err := d.Definitions()
		if err != nil {
			return err
		}
		for _, crd := range definitions {
			kind := schema.GroupVersionKind{
				Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind,
			}
			if err := eachOfKind(ctx, c, kind, d.Finalizers(), each); err != nil {
				return err
			}
		}
	}
	return nil
}

func eachOfKind(ctx context.Context, c client.Client, kind schema.GroupVersionKind, handled []string,
	each func(o *metav1.PartialObjectMetadata, ours []string) error) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := c.List(ctx, list, client.Limit(listLimit), client.Continue(list.Continue))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %s objects: %w", kind.Kind, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			o.SetGroupVersionKind(kind)
			ours := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return !slices.Contains(handled, f) })
			if len(ours) == 0 {
				continue
			}
			if err := each(o, ours); err != nil {
				return err
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}

// release removes some finalizers of an object, and reads it again if it changed.
func release(ctx context.Context, c client.Client, o *metav1.PartialObjectMetadata, ours []string) error {
	kind := o.GroupVersionKind()
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		want := o.DeepCopy()
		want.Finalizers = slices.DeleteFunc(want.Finalizers, func(f string) bool { return slices.Contains(ours, f) })
		err := c.Patch(ctx, want, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			o.SetGroupVersionKind(kind)
		}
		return err
	}))
}
