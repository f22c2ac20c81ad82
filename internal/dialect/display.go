package dialect

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
)

// KindName returns the name of a kind for people: "Kind", or "Kind.group" if a registered dialect reads a kind of the
// same name in another group.
func KindName(kind schema.GroupKind) string {
	if kind.Group != "" && isShared(kind) {
		return kind.Kind + "." + kind.Group
	}
	return kind.Kind
}

// isShared reports whether a registered dialect reads a kind of the same name in another group.
func isShared(kind schema.GroupKind) bool {
	groups := kindGroups()[kind.Kind]
	return len(groups) > 1 || len(groups) == 1 && !groups[kind.Group]
}

// kindGroups returns the API groups of the kinds that registered dialects read or define, and of the Route trait, by
// the name of the kind. It does not decode their definitions.
func kindGroups() map[string]map[string]bool {
	sharedMutex.Lock()
	if sharedGroups == nil {
		sharedGroups = sync.OnceValue(newKindGroups)
	}
	get := sharedGroups
	sharedMutex.Unlock()
	return get()
}

func newKindGroups() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	add := func(scheme *runtime.Scheme, o runtime.Object) {
		all, _, err := scheme.ObjectKinds(o)
		if _, is := o.(client.Object); err != nil || !is { // a scheme has other types, too
			return
		}
		for _, gvk := range all {
			if out[gvk.Kind] == nil {
				out[gvk.Kind] = map[string]bool{}
			}
			out[gvk.Kind][gvk.Group] = true
		}
	}
	route := runtime.NewScheme()
	if err := standard.AddToScheme(route); err == nil { // the Route trait, which is no dialect
		for gvk := range route.AllKnownTypes() {
			if o, err := route.New(gvk); err == nil {
				add(route, o)
			}
		}
	}
	for _, d := range All() {
		own := runtime.NewScheme()
		if err := d.AddToScheme(own); err != nil {
			continue // NewScheme returns the error
		}
		for gvk := range own.AllKnownTypes() {
			if o, err := own.New(gvk); err == nil {
				add(own, o)
			}
		}
		for _, o := range d.Kinds() {
			add(clientgoscheme.Scheme, o)
		}
	}
	return out
}

// OwnGroupKinds returns the kinds of OwnKinds. It does not decode the definitions of the dialect.
func OwnGroupKinds(d Dialect) []schema.GroupKind { return groupKinds(d, OwnKinds(d)) }

// OptionalGroupKinds returns the kinds of a dialect that others define.
func OptionalGroupKinds(d Dialect) []schema.GroupKind {
	_, optional := SplitKinds([]Dialect{d})
	return groupKinds(d, optional)
}

// groupKinds returns the groups and names of kinds of a dialect.
func groupKinds(d Dialect, kinds []client.Object) []schema.GroupKind {
	own := runtime.NewScheme()
	if err := d.AddToScheme(own); err != nil {
		return nil // NewScheme returns the error
	}
	var out []schema.GroupKind
	for _, kind := range kinds {
		if gvk, err := apiutil.GVKForObject(kind, own); err == nil {
			out = append(out, gvk.GroupKind())
		}
	}
	return out
}
