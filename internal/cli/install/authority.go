package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// HasAuthority reports whether the namespace has the Secret of the authority of the mesh.
func HasAuthority(ctx context.Context, c client.Reader, namespace string) (bool, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: identity.CASecret}, secret)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// DeleteAuthority deletes the namespace of the control plane with the authority of the mesh, and waits until it is
// gone. Running sidecars do not trust a later installation.
func DeleteAuthority(ctx context.Context, c client.Client, namespace string, report func(string)) error {
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Delete(ctx, o); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("deleting Namespace %s: %w", namespace, err)
	}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(o), o)), nil
	})
	if err != nil {
		return fmt.Errorf("Namespace %s is not removed yet; check the finalizers of its objects: %w", namespace, err)
	}
	report("Namespace " + namespace + " with the authority")
	return nil
}
