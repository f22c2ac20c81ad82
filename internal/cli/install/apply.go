package install

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// fieldManager is the owner of applied fields.
const fieldManager = "anymesh-install"

// pollInterval is the interval of requests while waiting for the cluster.
const pollInterval = 100 * time.Millisecond

// Apply creates or updates the objects in order, and calls report for each. It waits until new kinds are served.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured, report func(string)) error {
	if err := checkServed(c, objects); err != nil {
		return err
	}
	for _, o := range objects {
		if foreign, err := isForeign(ctx, c, o); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		} else if foreign {
			report(o.GetKind() + " " + o.GetName() + " as it is: another program or another version made it")
			continue
		}
		var last error
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			last = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()),
				client.FieldOwner(fieldManager), client.ForceOwnership)
			return !meta.IsNoMatchError(last), nil
		})
		if last == nil {
			last = err
		}
		if last != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), last)
		}
		report(o.GetKind() + " " + o.GetName())
	}
	return nil
}

// checkServed returns an error for the first kind that the cluster does not have and the objects do not define.
func checkServed(c client.Client, objects []*unstructured.Unstructured) error {
	defined := map[string]bool{}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			defined[group] = true
		}
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		if defined[kind.Group] {
			continue
		}
		if _, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			return fmt.Errorf("%s %s: the cluster does not have the kind %s of %s; install it, or change the value that adds this object",
				kind.Kind, o.GetName(), kind.Kind, kind.GroupVersion())
		} else if err != nil {
			return fmt.Errorf("the kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
		}
	}
	return nil
}

// keepAnnotation on an object has the value "keep" if the object stays when Helm or Anymesh removes the others.
const keepAnnotation = "helm.sh/resource-policy"

// Delete removes the objects in reverse order, and waits until they are gone. With keepCRDs, it keeps CRDs and
// therefore all user objects. When the control plane is gone, it removes the finalizers of user objects, so that they
// can be deleted.
func Delete(ctx context.Context, c client.Client, objects []*unstructured.Unstructured, keepCRDs bool,
	report func(string)) error {
	objects = slices.Clone(objects)
	slices.Reverse(objects)
	released := false
each:
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" && !released {
			if err := ReleaseFinalizers(ctx, c, dialect.All(), report); err != nil {
				return err
			}
			released = true
		}
		if keepCRDs && o.GetKind() == "CustomResourceDefinition" || o.GetAnnotations()[keepAnnotation] == "keep" {
			continue
		}
		for _, check := range []func(context.Context, client.Client, *unstructured.Unstructured) (bool, error){
			ofAnother, isForeign,
		} {
			if others, err := check(ctx, c, o); err != nil {
				return fmt.Errorf("deleting %s %s: %w", o.GetKind(), o.GetName(), err)
			} else if others {
				continue each
			}
		}
		err := c.Delete(ctx, o.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground))
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
			return fmt.Errorf("deleting %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(o.GroupVersionKind())
			err := c.Get(ctx, client.ObjectKeyFromObject(o), now)
			return apierrors.IsNotFound(err) || meta.IsNoMatchError(err), nil
		})
		if err != nil {
			return fmt.Errorf("%s %s is not removed yet; check its finalizers: %w", o.GetKind(), o.GetName(), err)
		}
		report(o.GetKind() + " " + o.GetName())
	}
	return nil
}

// existsAnnotation on an object of Anymesh has the value "keep" if another program, a user or an older version may have
// made it: then that object stays as it is.
const existsAnnotation = "anymesh.dev/if-exists"

// isForeign reports whether an object was made by another program, and Anymesh does not take it over.
func isForeign(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, error) {
	if o.GetAnnotations()[existsAnnotation] != "keep" {
		return false, nil
	}
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(o), now)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil && now.GetAnnotations()[existsAnnotation] != "keep", err
}

// nameLabel is the label with the program that an object belongs to.
const nameLabel = "app.kubernetes.io/name"

// ofAnother reports whether an object of the same name belongs to another program, as the APIService of a Karmada does.
func ofAnother(ctx context.Context, c client.Client, o *unstructured.Unstructured) (bool, error) {
	want := o.GetLabels()[nameLabel]
	if want == "" {
		return false, nil
	}
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(o), now)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return now.GetLabels()[nameLabel] != want, err
}
