package dialect

import (
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/model"
)

// NewScheme returns a scheme with the kinds of Kubernetes and of the registered dialects. The caller may add others.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	for _, d := range All() {
		if err := d.AddToScheme(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// kinds are the kinds of Kubernetes and of the registered dialects.
type kinds struct {
	scheme        *runtime.Scheme
	clusterScoped map[schema.GroupKind]bool
}

var (
	sharedMutex  sync.Mutex
	shared       func() (kinds, error)
	sharedGroups func() map[string]map[string]bool
)

func newKinds() (kinds, error) {
	scheme, err := NewScheme()
	if err != nil {
		return kinds{}, err
	}
	definitions, err := Definitions(All())
	if err != nil {
		return kinds{}, err
	}
	scopes := map[schema.GroupKind]bool{{Kind: "Namespace"}: true}
	_, optional := SplitKinds(All())
	for _, kind := range optional {
		if s, says := kind.(interface{ NamespaceScoped() bool }); says && !s.NamespaceScoped() {
			if gvk, err := apiutil.GVKForObject(kind, scheme); err == nil {
				scopes[gvk.GroupKind()] = true
			}
		}
	}
	for _, crd := range definitions {
		if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
			scopes[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = true
		}
	}
	return kinds{scheme, scopes}, nil
}

func resetScheme() {
	sharedMutex.Lock()
	defer sharedMutex.Unlock()
	shared, sharedGroups = nil, nil
}

func sharedKinds() (kinds, error) {
	sharedMutex.Lock()
	if shared == nil {
		shared = sync.OnceValues(newKinds)
	}
	get := shared
	sharedMutex.Unlock()
	return get()
}

// Scheme returns a shared scheme like that of NewScheme. It must not be changed.
func Scheme() (*runtime.Scheme, error) {
	k, err := sharedKinds()
	return k.scheme, err
}

// ClusterScoped reports whether a kind is cluster-scoped. It supports the kinds that registered dialects define, their
// optional ones, and Namespace.
func ClusterScoped(kind schema.GroupKind) bool {
	k, err := sharedKinds()
	return err == nil && k.clusterScoped[kind]
}

// RefOf returns the reference of an object of a registered dialect or of Kubernetes. For other objects, the kind is
// the name of the Go type.
func RefOf(o client.Object) model.ObjectRef {
	ref := model.ObjectRef{Kind: reflect.TypeOf(o).Elem().Name(), Namespace: o.GetNamespace(), Name: o.GetName()}
	if scheme, err := Scheme(); err == nil {
		if gvk, err := apiutil.GVKForObject(o, scheme); err == nil {
			ref.Group, ref.Kind = gvk.Group, gvk.Kind
		}
	}
	return ref
}

// Kinds returns an empty object of each kind that dialects read, without duplicates, and of Service, from which package
// store reads the addresses of services.
func Kinds(dialects []Dialect) []client.Object {
	out := []client.Object{&corev1.Service{}}
	seen := map[reflect.Type]bool{reflect.TypeFor[*corev1.Service](): true}
	for _, d := range dialects {
		for _, kind := range d.Kinds() {
			if t := reflect.TypeOf(kind); !seen[t] {
				seen[t] = true
				out = append(out, kind)
			}
		}
	}
	return out
}

// OptionalKinds is a dialect with kinds that others install, at any time.
type OptionalKinds interface {
	// OptionalKinds are those of Kinds that a cluster may not have. One whose objects have no namespace has a method
	// NamespaceScoped that returns false.
	OptionalKinds() []client.Object
}

// SplitKinds returns the kinds that every cluster with these dialects has, and those that it may not have.
func SplitKinds(dialects []Dialect) (required, optional []client.Object) {
	for _, d := range Implementing[OptionalKinds](dialects) {
		optional = append(optional, d.OptionalKinds()...)
	}
	required = slices.DeleteFunc(Kinds(dialects), func(kind client.Object) bool {
		return slices.ContainsFunc(optional, func(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(kind) })
	})
	return required, optional
}

// OwnKinds returns an empty object of each kind of a dialect that is not built into Kubernetes.
func OwnKinds(d interface{ Kinds() []client.Object }) []client.Object {
	var out []client.Object
	for _, kind := range d.Kinds() {
		if _, _, err := clientgoscheme.Scheme.ObjectKinds(kind); err != nil {
			out = append(out, kind)
		}
	}
	return out
}

// Definitions returns the CustomResourceDefinitions of dialects, in their order.
func Definitions(dialects []Dialect) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, d := range dialects {
		definitions, err := d.Definitions()
		if err != nil {
			return nil, err
		}
		out = append(out, definitions...)
	}
	return out, nil
}
