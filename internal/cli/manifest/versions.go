package manifest

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	kjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Convert makes documents of older versions of a kind ones of the stored version, as an API server does.
func Convert(documents []*Document) ([]Fault, error) {
	served, err := ServedVersions()
	if err != nil {
		return nil, err
	}
	var faults []Fault
	for _, c := range dialect.Implementing[dialect.Conversions](dialect.All()) {
		for _, d := range documents {
			stored, is := served[d.GVK]
			if !is || !slices.Contains(c.ConvertedKinds(), stored.GroupKind()) {
				continue
			}
			if err := d.convert(c, stored); err != nil {
				faults = append(faults, d.fault("", model.CodeUnreadable, "%v", err))
				d.unknown = true
			}
		}
	}
	return faults, nil
}

func (d *Document) convert(c dialect.Conversions, stored schema.GroupVersionKind) error {
	var o map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.JSON, &o); err != nil {
		return err
	}
	if err := c.Convert(o, stored.Version); err != nil {
		return err
	}
	d.GVK, d.JSON = stored, encode(o)
	return nil
}

// ServedVersions returns the stored version of each other version that an API server serves of the kinds of dialects.
// The map must not be modified.
var ServedVersions = sync.OnceValues(func() (map[schema.GroupVersionKind]schema.GroupVersionKind, error) {
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
})
