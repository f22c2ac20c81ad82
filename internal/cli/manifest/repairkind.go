package manifest

import (
	"cmp"
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
		if trial := *d; len(trial.repair(types[gvk], types)) > 0 { // another version has other fields
			d.unknown = true
			return &fault
		}
	}
	d.become(gvk)
	return &fault
}

// become replaces the kind of an object.
func (d *Document) become(gvk schema.GroupVersionKind) {
	content, err := decodeNumbers(d.JSON)
	if object, is := content.(map[string]any); is && err == nil {
		object["apiVersion"], object["kind"] = gvk.GroupVersion().String(), gvk.Kind
		d.JSON = encode(object)
	}
	d.GVK = gvk
	d.Ref.Group, d.Ref.Kind = gvk.Group, gvk.Kind
}

// compareKinds orders kinds by group, and then by version, v1 before v1beta1.
func compareKinds(a, b schema.GroupVersionKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version),
		strings.Compare(a.Kind, b.Kind))
}

// repairBuiltin replaces a kind that the core group or a group of workloads does not have: by one with a similar name
// of this group, or by the kind with this name of the only other group.
func (d *Document) repairBuiltin(types map[schema.GroupVersionKind]reflect.Type,
	exists func(schema.GroupVersionKind) bool) *Fault {
	if !slices.Contains([]string{"", "apps", "batch"}, d.GVK.Group) || exists(d.GVK) {
		return nil
	}
	var same []string
	var others []schema.GroupVersionKind // one of each group
	for _, gvk := range slices.SortedFunc(maps.Keys(types), compareKinds) {
		if gvk.GroupVersion() == d.GVK.GroupVersion() {
			same = append(same, gvk.Kind)
		}
		if n := len(others); gvk.Kind == d.GVK.Kind && (n == 0 || others[n-1].Group != gvk.Group) {
			others = append(others, gvk)
		}
	}
	fault := d.fault("", model.CodeUnreadable, "%s has no kind %s", d.GVK.GroupVersion(), d.GVK.Kind)
	if meant, near := spelling.Meant(d.GVK.Kind, same); near {
		fault.Text += "; did you mean kind " + meant + "?"
		d.become(d.GVK.GroupVersion().WithKind(meant))
		return &fault
	}
	if len(others) == 1 {
		fault.Text += "; did you mean apiVersion " + others[0].GroupVersion().String() + "?"
		if trial := *d; len(trial.repair(types[others[0]], types)) == 0 {
			d.become(others[0])
			return &fault
		}
	}
	d.unknown = true
	return &fault
}

// PathOf is the path of an element of a mapping.
func PathOf(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return fmt.Sprintf("%s[%s]", path, key)
	}
	return join(path, key)
}
