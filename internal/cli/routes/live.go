package routes

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/issuer"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
	"anymesh.dev/anymesh/internal/trait/snapshot"
)

// Settings are those of the control plane that plans the Routes of a cluster.
type Settings struct {
	// Provider is the provider of Routes that name none; empty means that which the cluster has.
	Provider string
	// DefinitionNamespaces are searched for definitions after the namespace of the Route.
	DefinitionNamespaces []string
	// System is the namespace of the control plane.
	System string
}

// Live describes a Route of a cluster, by NAMESPACE/NAME or NAME. It reads what the control plane reads, with the
// permissions of the user; what must not be read is an error, but for Secrets, which notes name.
func Live(ctx context.Context, kube client.Client, name, namespace string, settings Settings) (Description, []string,
	error) {
	r := &reader{ctx: ctx, client: kube, lists: map[listKey]snapshot.Cluster{}}
	if !r.Has(standard.RouteKind) {
		return Description{}, nil, errors.Join(r.err, errors.New("the cluster has no kind Route; install with routeTrait.enabled"))
	}
	o, err := find(r.List(standard.RouteKind, ""), name, namespace)
	if err = errors.Join(r.err, err); err != nil {
		return Description{}, nil, err
	}
	roots := x509.NewCertPool()
	if _, secured, _ := unstructured.NestedMap(o.Object, "spec", "tls"); secured {
		roots = r.roots(settings.System)
	}
	planner := &route.Planner{
		Providers: builtin.Providers(), Default: settings.Provider, Certificates: issuer.Plans{Roots: roots},
		Discovery: discovery.Options{DefinitionNamespaces: settings.DefinitionNamespaces},
	}
	out := Description{Object: refOf(controller.KeyOf(o)), Description: planner.Describe(o, r), Live: true}
	var with struct {
		Status standard.RouteStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &with); err == nil {
		out.Conditions = with.Status.Conditions
	}
	return out, r.notes, r.err
}

type listKey struct {
	kind      schema.GroupVersionKind
	namespace string
}

// reader reads the objects of a cluster. It keeps what it has read.
type reader struct {
	ctx    context.Context
	client client.Client
	lists  map[listKey]snapshot.Cluster
	notes  []string
	// err is the first error.
	err error
}

var _ discovery.Reader = &reader{}

// roots returns the roots of the built-in authority; none if the user must not read its Secret.
func (r *reader) roots(system string) *x509.CertPool {
	pool := x509.NewCertPool()
	if o := r.Get(provider.SecretKind, system, certificate.AuthoritySecret); o != nil {
		var secret corev1.Secret
		if provider.Typed(o, &secret) == nil {
			pool.AppendCertsFromPEM(secret.Data["ca.crt"])
		}
	}
	return pool
}

// Has implements provider.Reader.
func (r *reader) Has(kind schema.GroupVersionKind) bool { return r.mapping(kind) != nil }

// Resource implements discovery.Reader.
func (r *reader) Resource(kind schema.GroupVersionKind) string {
	if m := r.mapping(kind); m != nil {
		return m.Resource.Resource
	}
	return ""
}

func (r *reader) mapping(kind schema.GroupVersionKind) *meta.RESTMapping {
	m, err := r.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		if !meta.IsNoMatchError(err) {
			r.fail(kind, err)
		}
		return nil
	}
	return m
}

func (r *reader) fail(kind schema.GroupVersionKind, err error) {
	if kind == provider.SecretKind && apierrors.IsForbidden(err) {
		if len(r.notes) == 0 {
			r.notes = []string{"the certificate is not judged: you must not read Secrets"}
		}
		return
	}
	if r.err == nil {
		r.err = fmt.Errorf("reading %s objects: %w", kind.Kind, err)
	}
}

// Get implements provider.Reader.
func (r *reader) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	m := r.mapping(kind)
	if m == nil || (m.Scope.Name() == meta.RESTScopeNameNamespace) == (namespace == "") {
		return nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := r.client.Get(r.ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			r.fail(kind, err)
		}
		return nil
	}
	return o
}

// List implements provider.Reader.
func (r *reader) List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured {
	return r.list(kind, namespace).List(kind, namespace)
}

func (r *reader) list(kind schema.GroupVersionKind, namespace string) snapshot.Cluster {
	key := listKey{kind, namespace}
	if all, known := r.lists[key]; known || r.mapping(kind) == nil {
		return all
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	var out snapshot.Cluster
	if err := r.client.List(r.ctx, list, client.InNamespace(namespace)); err != nil {
		r.fail(kind, err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	r.lists[key] = out
	return out
}

// Owned implements discovery.Reader.
func (r *reader) Owned(kind schema.GroupVersionKind, namespace string, owner types.UID) []*unstructured.Unstructured {
	return r.list(kind, namespace).Owned(kind, namespace, owner)
}

// Selects implements discovery.Reader.
func (r *reader) Selects(kind schema.GroupVersionKind, namespace string, selector map[string]string) bool {
	return r.list(kind, namespace).Selects(kind, namespace, selector)
}
