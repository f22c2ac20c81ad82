package lint

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/routes"
	"anymesh.dev/anymesh/internal/dialect"
)

// exists reports whether Kubernetes has a kind. Lists and options are kinds that no manifest has.
func exists(gvk schema.GroupVersionKind) bool {
	scheme, err := dialect.Scheme()
	return err != nil || scheme.Recognizes(gvk)
}

// repairedTypes are the types of the kinds that lint reads: those of dialects, of Routes and applications, and of
// workloads.
func repairedTypes(dialects []dialect.Dialect) (map[schema.GroupVersionKind]reflect.Type, error) {
	scheme, err := dialect.Scheme()
	if err != nil {
		return nil, err
	}
	out := routes.Types()
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Group == "apps" || gvk.Group == "batch" {
			out[gvk] = t
		}
	}
	for _, kind := range dialect.Kinds(dialects) {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", kind, err)
		}
		out[gvk] = reflect.TypeOf(kind).Elem()
	}
	served, err := manifest.ServedVersions()
	if err != nil {
		return nil, err
	}
	for other, stored := range served {
		if t := out[stored]; t != nil {
			out[other] = t
		}
	}
	return out, nil
}

// repair repairs documents before they are decoded.
func repair(documents []*manifest.Document, dialects []dialect.Dialect) ([]manifest.Fault, error) {
	enabled, _, _ := manifest.Enable(documents, dialects)
	types, err := repairedTypes(enabled)
	if err != nil {
		return nil, err
	}
	faults, err := manifest.Convert(documents)
	return append(faults, manifest.Repair(documents, types, exists)...), err
}
