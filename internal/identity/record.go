package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RecordConfigMap is the name of the ConfigMap with the fingerprints of the roots that running sidecars trust: the key
// is the name of the CA's Secret. It is separate from the Secret, so that the loss of the Secret is noticed.
const RecordConfigMap = "anymesh-authority"

// ErrOtherAuthority reports that the Secret of a CA is missing, is empty or has other roots than those that sidecars
// trust.
var ErrOtherAuthority = errors.New("running sidecars trust another authority")

// ReplaceAnnotation returns the annotation of RecordConfigMap that requests a new CA in a Secret at once, without a
// rotation. Each new value requests another one. It is removed when it is done.
func ReplaceAnnotation(secret string) string { return "replace.anymesh.dev/" + secret }

// ProblemAnnotation returns the annotation of RecordConfigMap with the reason why the control plane does not use the CA
// of a Secret.
func ProblemAnnotation(secret string) string { return "problem.anymesh.dev/" + secret }

// replacedAnnotation of the Secret is the value of the last request that is done.
const replacedAnnotation = "anymesh.dev/replaced"

// record is what RecordConfigMap says of one Secret.
type record struct {
	stored  *corev1.ConfigMap // nil if there is none
	roots   []string          // fingerprints
	request string            // for a new CA, or empty
	reports map[string]string // about the pods that trust a new root, by replica
}

func (k *CAStore) readRecord(ctx context.Context) (record, error) {
	if k.opts.Unrecorded {
		return record{}, nil
	}
	stored, err := k.records.Get(ctx, RecordConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("ConfigMap %s/%s: %w", k.opts.Namespace, RecordConfigMap, err)
	}
	out := record{stored: stored, roots: strings.Fields(stored.Data[k.opts.Secret]),
		request: stored.Annotations[ReplaceAnnotation(k.opts.Secret)], reports: map[string]string{}}
	for key, text := range stored.Data {
		if replica, is := strings.CutPrefix(key, reportPrefix(k.opts.Secret)); is {
			out.reports[replica] = text
		}
	}
	return out, nil
}

// replaceRequested reports whether a request is not done yet. The Secret may be nil.
func (r record) replaceRequested(secret *corev1.Secret) bool {
	return r.request != "" && (secret == nil || secret.Annotations[replacedAnnotation] != r.request)
}

// knows reports whether a bundle has a recorded root. A record without roots knows all.
func (r record) knows(b *Bundle) bool {
	return len(r.roots) == 0 || slices.ContainsFunc(fingerprints(b), func(one string) bool {
		return slices.Contains(r.roots, one)
	})
}

// save records the current roots and, while Publishing, which pods trust them. It removes a request that is done and
// the last problem.
func (k *CAStore) save(ctx context.Context, r record) error {
	text, due := k.reportDue()
	k.mu.Lock()
	done, publishing := k.secret.Annotations[replacedAnnotation], k.state.phase() == Publishing
	k.mu.Unlock()
	return k.write(ctx, r, func(m *corev1.ConfigMap) {
		m.Data[k.opts.Secret] = strings.Join(fingerprints(k.Bundle()), "\n")
		delete(m.Annotations, ProblemAnnotation(k.opts.Secret))
		maps.DeleteFunc(m.Data, func(key, _ string) bool {
			return !publishing && strings.HasPrefix(key, reportPrefix(k.opts.Secret))
		})
		if due {
			m.Data[reportPrefix(k.opts.Secret)+k.opts.Replica] = text
		}
		if r.request == done {
			delete(m.Annotations, ReplaceAnnotation(k.opts.Secret))
		}
	})
}

// refuse returns the error of a Secret that has not the recorded roots, and records it as the problem.
func (k *CAStore) refuse(ctx context.Context, r record, what string) error {
	err := fmt.Errorf("Secret %s/%s %s, but %w, with the root %.16s: restore the Secret from a backup, or make a new "+
		"authority with anymesh identity replace --yes and restart all injected pods",
		k.opts.Namespace, k.opts.Secret, what, ErrOtherAuthority, r.roots[0])
	return errors.Join(err, k.write(ctx, r, func(m *corev1.ConfigMap) {
		m.Annotations[ProblemAnnotation(k.opts.Secret)] = err.Error()
	}))
}

// write stores a change of the record. If another replica was first, it does nothing: the next sync compares again.
func (k *CAStore) write(ctx context.Context, r record, change func(*corev1.ConfigMap)) error {
	if k.opts.Unrecorded {
		return nil
	}
	changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.opts.Namespace, Name: RecordConfigMap,
		Labels: map[string]string{managedLabel: managedByValue}}}
	if r.stored != nil {
		changed = r.stored.DeepCopy()
	}
	if changed.Data == nil {
		changed.Data = map[string]string{}
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	change(changed)
	var err error
	switch {
	case r.stored == nil:
		_, err = k.records.Create(ctx, changed, metav1.CreateOptions{})
	case maps.Equal(changed.Data, r.stored.Data) && maps.Equal(changed.Annotations, r.stored.Annotations):
		return nil
	default:
		_, err = k.records.Update(ctx, changed, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("ConfigMap %s/%s: %w", k.opts.Namespace, RecordConfigMap, err)
	}
	return nil
}

func fingerprints(b *Bundle) []string {
	var out []string
	for _, c := range b.Roots() {
		out = append(out, fingerprint(c))
	}
	return out
}
