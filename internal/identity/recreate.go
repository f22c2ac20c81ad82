package identity

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrReplaced reports that the CA was replaced by a request. The caller has to restart: connections that clients have
// made with certificates of the old CA end only then.
var ErrReplaced = errors.New("the certificate authority was replaced: the control plane restarts, which closes " +
	"connections with certificates of the old one; restart all injected pods")

// get returns the Secret, or nil if there is none.
func (k *CAStore) get(ctx context.Context) (*corev1.Secret, error) {
	secret, err := k.secrets.Get(ctx, k.opts.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, k.wrap(err)
	}
	return secret, nil
}

func (k *CAStore) wrap(err error) error {
	return fmt.Errorf("Secret %s/%s: %w", k.opts.Namespace, k.opts.Secret, err)
}

// create stores a new CA in place of the data of a Secret, which is nil if there is none. If another replica was first,
// it returns the Secret of that.
func (k *CAStore) create(ctx context.Context, old *corev1.Secret, request string) (*corev1.Secret, error) {
	fresh, err := k.policy.newState(k.now())
	if err != nil {
		return nil, err
	}
	secret, err := newSecret(old, k.opts.Namespace, k.opts.Secret, fresh)
	if err != nil {
		return nil, err
	}
	if request != "" {
		secret.Annotations[replacedAnnotation] = request
	}
	stored, _, err := k.store(ctx, secret)
	return stored, err
}

// replaceExpired replaces an expired root that Anymesh created.
func (k *CAStore) replaceExpired(ctx context.Context, expired *corev1.Secret, why error) error {
	k.opts.Logger.Error("root certificate expired, creating a new one; restart all injected pods", "error", why)
	stored, err := k.create(ctx, expired, "")
	if err != nil {
		return err
	}
	return k.adopt(stored)
}

// restore writes the deleted Secret again, as it was last read, with the CA in use. If empty is not nil, it is a Secret
// without data in its place.
func (k *CAStore) restore(ctx context.Context, empty *corev1.Secret) (*corev1.Secret, error) {
	k.mu.Lock()
	last, current := k.secret, k.state
	k.mu.Unlock()
	secret := &corev1.Secret{Type: last.Type, ObjectMeta: metav1.ObjectMeta{Namespace: k.opts.Namespace,
		Name: k.opts.Secret}}
	if empty != nil {
		secret = empty.DeepCopy()
	}
	secret.Data = last.Data
	secret.Labels = mergeNonEmpty(secret.Labels, last.Labels)
	secret.Annotations = mergeNonEmpty(secret.Annotations, last.Annotations)
	if err := current.encode(secret); err != nil {
		return nil, err
	}
	stored, first, err := k.store(ctx, secret)
	if err != nil || !first {
		return stored, err
	}
	k.opts.Logger.Warn("the CA Secret was deleted or emptied; it is written again", current.logAttrs()...)
	if k.opts.Recorder != nil {
		k.opts.Recorder.Eventf(stored, nil, corev1.EventTypeWarning, "AuthorityRestored", "Restore",
			"The Secret of the certificate authority was deleted or emptied. The control plane has written it again. For "+
				"a new authority, run anymesh identity replace.")
	}
	return stored, nil
}

// store creates a Secret, or updates it if it has a resource version. If another replica was first, it returns the
// Secret of that, and false.
func (k *CAStore) store(ctx context.Context, secret *corev1.Secret) (stored *corev1.Secret, first bool, err error) {
	if secret.ResourceVersion == "" {
		stored, err = k.secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		stored, err = k.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if first = err == nil; apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		stored, err = k.secrets.Get(ctx, k.opts.Secret, metav1.GetOptions{})
	}
	if err != nil {
		return nil, false, k.wrap(err)
	}
	return stored, first, nil
}
