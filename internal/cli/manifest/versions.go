package manifest

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/dialect"
)

// ServedVersions returns the stored version of each other version that an API server serves of the kinds of dialects.
// All versions of a kind have the same fields: the API server does not convert them.
func ServedVersions() (map[schema.GroupVersionKind]schema.GroupVersionKind, error) {
	definitions, err := dialect.Definitions(dialect.All())
	if err != nil {
		return nil, err
	}
	out := map[schema.GroupVersionKind]schema.GroupVersionKind{}
	for _, crd := range definitions {
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		for _, stored := range crd.Spec.Versions {
			for _, v := range crd.Spec.Versions {
				if stored.Storage && v.Served && !v.Storage {
					out[kind.WithVersion(v.Name)] = kind.WithVersion(stored.Name)
				}
			}
		}
	}
	return out, nil
}
