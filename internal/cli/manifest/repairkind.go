package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/model"
)

// repairKind replaces a misspelled group, version or kind. Groups of Kubernetes are not repaired, because types has not
// all of their kinds.
func (d *Document) repairKind(types map[schema.GroupVersionKind]reflect.Type) *Fault {
	kinds := map[string]map[string]string{} // group, kind: version
	for gvk := range types {
		if !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io") {
			continue
		}
		if kinds[gvk.Group] == nil {
			kinds[gvk.Group] = map[string]string{}
		}
		if v := kinds[gvk.Group]; gvk.Version > v[gvk.Kind] {
			v[gvk.Kind] = gvk.Version
		}
	}
	group, hint := d.GVK.Group, ""
	if kinds[group] == nil {
		meant, near := spelling.Meant(group, slices.Sorted(maps.Keys(kinds)))
		if !near {
			return nil
		}
		group, hint = meant, "group "+meant
	}
	kind := d.GVK.Kind
	if kinds[group][kind] == "" {
		meant, near := spelling.Meant(kind, slices.Sorted(maps.Keys(kinds[group])))
		if !near {
			return nil // the decoder reports a kind that a known group does not have
		}
		kind = meant
		hint = strings.TrimPrefix(hint+", kind "+meant, ", ")
	}
	gvk := schema.GroupVersionKind{Group: group, Version: d.GVK.Version, Kind: kind}
	if types[gvk] == nil {
		gvk.Version = kinds[group][kind]
		hint = strings.TrimPrefix(hint+", version "+gvk.Version, ", ")
	}
	if gvk == d.GVK {
		return nil
	}
	fault := d.fault("", model.CodeUnreadable, "%s has no kind %s in version %s; did you mean %s?", d.GVK.Group, d.GVK.Kind, d.GVK.Version, hint)
	if gvk.Version != d.GVK.Version {
		if trial := *d; len(trial.repair(types[gvk])) > 0 { // another version has other fields
			d.unknown = true
			return &fault
		}
	}
	content, err := decodeNumbers(d.JSON)
	if object, is := content.(map[string]any); is && err == nil {
		object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
		d.JSON = encode(object)
	}
	source := *d
	d.GVK = gvk
	d.Ref.Group, d.Ref.Kind = gvk.Group, gvk.Kind
	fault.Document = &source // the finding names the kind as it is written
	return &fault
}

// PathOf is the path of an element of a mapping.
func PathOf(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return fmt.Sprintf("%s[%s]", path, key)
	}
	return join(path, key)
}
