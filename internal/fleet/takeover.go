package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
)

// Results of objects that are taken over.
const (
	Created   = "created"
	Changed   = "changed"
	Unchanged = "unchanged"
	Failed    = "failed"
)

// Taken is what became of an object.
type Taken struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Result string `json:"result"`
	// Notes say why it failed, and which fields have no effect.
	Notes []string `json:"notes,omitempty"`
}

// takeover copies objects from one control plane to another one.
type takeover struct {
	from, to client.Client
	dryRun   bool
}

// pageSize limits a page of a list.
const pageSize = 500

// TakeOver writes the Clusters of another control plane, their Secrets and its ResourceRegistries to a control plane.
// It changes nothing in the other one, and can be repeated. If both are the same API server, which serves Clusters
// itself, only ResourceRegistries are written. An object that fails does not stop the others.
func TakeOver(ctx context.Context, from, to client.Client, dryRun bool) ([]Taken, error) {
	t := takeover{from, to, dryRun}
	same, err := t.sameControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	var all []Taken
	var missing []error
	for _, kind := range []struct {
		kind schema.GroupVersionKind
		copy func(context.Context, *unstructured.Unstructured) Taken
	}{
		{clusterv1.GroupVersion.WithKind("Cluster"), t.cluster},
		{searchv1.GroupVersion.WithKind("ResourceRegistry"), t.registry},
	} {
		if same && kind.kind.Kind == "Cluster" {
			continue
		}
		objects, err := t.list(ctx, kind.kind)
		if meta.IsNoMatchError(err) {
			missing = append(missing, err)
			continue
		}
		if err != nil {
			return all, fmt.Errorf("listing %s objects of %s: %w", kind.kind.Kind, kind.kind.GroupVersion(), err)
		}
		for _, o := range objects {
			all = append(all, kind.copy(ctx, o))
		}
	}
	if len(missing) == 2 {
		return nil, fmt.Errorf("the API server has neither Clusters nor ResourceRegistries: %w", errors.Join(missing...))
	}
	return all, nil
}

func (t takeover) sameControlPlane(ctx context.Context) (bool, error) {
	var uids []string
	for _, kube := range []client.Client{t.from, t.to} {
		system := &corev1.Namespace{}
		if err := kube.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
			return false, fmt.Errorf("identity of the control plane: %w", err)
		}
		uids = append(uids, string(system.UID))
	}
	return uids[0] == uids[1], nil
}

func (t takeover) list(ctx context.Context, kind schema.GroupVersionKind) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	next := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := t.from.List(ctx, page, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, err
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// decode converts an object. It notes fields that the type does not have.
func (r *Taken) decode(from *unstructured.Unstructured, to any) error {
	delete(from.Object, "status")
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(from.Object, to, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, unknown := range strict.Errors() {
			r.Notes = append(r.Notes, fmt.Sprintf("%v: the field is not known, and is not taken over", unknown))
		}
		return nil
	}
	return err
}

// cluster takes over a Cluster and its Secrets.
func (t takeover) cluster(ctx context.Context, from *unstructured.Unstructured) Taken {
	r := Taken{Kind: "Cluster", Name: from.GetName()}
	c := &clusterv1.Cluster{}
	if err := r.decode(from, c); err != nil {
		return r.failed(err)
	}
	c.ObjectMeta = kept(from)
	r.Notes = append(r.Notes, withoutEffect(c.Spec)...)
	existing := &clusterv1.Cluster{}
	found, err := t.get(ctx, client.ObjectKey{Name: c.Name}, existing)
	if err != nil {
		return r.failed(err)
	}
	if found && existing.Spec.ID != "" && c.Spec.ID != "" && existing.Spec.ID != c.Spec.ID {
		return r.failed(fmt.Errorf("spec.id: the control plane has a Cluster of this name and another id, %s; "+
			"remove it with anymesh cluster leave %s", existing.Spec.ID, c.Name))
	}
	var secrets []string
	for _, s := range []struct {
		ref  *clusterv1.LocalSecretReference
		name string
	}{{c.Spec.SecretRef, c.Name}, {c.Spec.ImpersonatorSecretRef, c.Name + "-impersonator"}} {
		if s.ref == nil {
			continue
		}
		result, err := t.secret(ctx, *s.ref, s.name)
		if err != nil {
			return r.failed(err)
		}
		secrets = append(secrets, result)
		*s.ref = clusterv1.LocalSecretReference{Namespace: SecretNamespace, Name: s.name}
	}
	r.Result, err = write(ctx, t, c, existing, found, &c.Spec, &existing.Spec)
	if err != nil {
		return r.failed(err)
	}
	if r.Result == Unchanged && len(secrets) > 0 && (secrets[0] != Unchanged || secrets[len(secrets)-1] != Unchanged) {
		r.Result = Changed
		r.Notes = append(r.Notes, "the credentials changed")
	}
	return r
}

// withoutEffect says which fields of a Cluster are not acted on.
func withoutEffect(spec clusterv1.ClusterSpec) []string {
	var notes []string
	switch {
	case spec.SyncMode == clusterv1.Pull:
		notes = append(notes, "spec.syncMode: Pull is not supported: the cluster is not cached; join it with Push")
	case spec.SecretRef == nil:
		notes = append(notes, "spec.secretRef is not set: the cluster cannot be read")
	case spec.ImpersonatorSecretRef == nil:
		notes = append(notes, "spec.impersonatorSecretRef is not set: writes, logs and exec are refused")
	}
	if len(spec.Taints) > 0 {
		notes = append(notes, "spec.taints has no effect")
	}
	if len(spec.ResourceModels) > 0 {
		notes = append(notes, "spec.resourceModels has no effect")
	}
	return notes
}

// registry takes over a ResourceRegistry.
func (t takeover) registry(ctx context.Context, from *unstructured.Unstructured) Taken {
	r := Taken{Kind: "ResourceRegistry", Name: from.GetName()}
	registry := &searchv1.ResourceRegistry{}
	if err := r.decode(from, registry); err != nil {
		return r.failed(err)
	}
	registry.TypeMeta, registry.ObjectMeta = metav1.TypeMeta{}, kept(from)
	if registry.Spec.BackendStore != nil {
		r.Notes = append(r.Notes, "spec.backendStore is not supported: objects are cached in memory only")
	}
	existing := &searchv1.ResourceRegistry{}
	found, err := t.get(ctx, client.ObjectKey{Name: registry.Name}, existing)
	if err == nil {
		r.Result, err = write(ctx, t, registry, existing, found, &registry.Spec, &existing.Spec)
	}
	if err != nil {
		return r.failed(err)
	}
	return r
}

// secret takes over the token and the certificates of a Secret.
func (t takeover) secret(ctx context.Context, ref clusterv1.LocalSecretReference, name string) (string, error) {
	from := &corev1.Secret{}
	if err := t.from.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, from); err != nil {
		return "", fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	if !t.dryRun {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SecretNamespace}}
		if err := create(ctx, t.to, namespace); err != nil {
			return "", err
		}
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: SecretNamespace, Name: name}}
	s.Data = maps.Clone(from.Data)
	maps.DeleteFunc(s.Data, func(key string, _ []byte) bool {
		return key != clusterv1.SecretTokenKey && key != clusterv1.SecretCADataKey
	})
	existing := &corev1.Secret{}
	found, err := t.get(ctx, client.ObjectKeyFromObject(s), existing)
	if err != nil {
		return "", err
	}
	return write(ctx, t, s, existing, found, &s.Data, &existing.Data)
}

// get reads an object of the control plane. A kind that is not installed yet has no objects.
func (t takeover) get(ctx context.Context, key client.ObjectKey, o client.Object) (bool, error) {
	err := t.to.Get(ctx, key, o)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func (r Taken) failed(err error) Taken {
	r.Result = Failed
	r.Notes = append(r.Notes, err.Error())
	return r
}

// kept returns the metadata that are taken over. Finalizers and owners belong to the other control plane.
func kept(from *unstructured.Unstructured) metav1.ObjectMeta {
	annotations := maps.Clone(from.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	return metav1.ObjectMeta{Name: from.GetName(), Labels: from.GetLabels(), Annotations: annotations}
}
