package controller

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// differs reports whether an apply of the wanted object changes the object of the cluster: a wanted field has another
// value, or the controller owns a field that is no longer wanted. Subresource is "" or "status".
func differs(want, now *unstructured.Unstructured, subresource string) bool {
	from := want.Object
	if subresource != "" {
		from = map[string]any{subresource: want.Object[subresource]}
	}
	for name, value := range from {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		if !covers(value, now.Object[name]) {
			return true
		}
	}
	entry := ownedFields(now, subresource)
	return entry == nil && subresource == "" || !wantsAll(entry, want.Object)
}

// covers reports whether all fields of a value have the same value in another.
func covers(want, now any) bool {
	switch w := want.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			return len(w) == 0 && now == nil // the API server omits it
		}
		for name, value := range w {
			if inner := n[name]; !covers(value, inner) {
				return false
			}
		}
		return true
	case []any:
		n, _ := now.([]any)
		if len(n) != len(w) {
			return false
		}
		for i := range w {
			if !covers(w[i], n[i]) {
				return false
			}
		}
		return true
	}
	return want == now
}

// hasManager reports whether a field manager applied an object.
func hasManager(o *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// ownedFields returns the fields that the controller owns, in the format of managedFields, or nil.
func ownedFields(o *unstructured.Unstructured, subresource string) map[string]any {
	all, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	list, _ := all.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		of, _ := entry["subresource"].(string)
		if entry["manager"] == fieldManager && entry["operation"] == "Apply" && of == subresource {
			fields, _ := entry["fieldsV1"].(map[string]any)
			return fields
		}
	}
	return nil
}

// wantsAll reports whether a value has all fields of an entry of managedFields.
func wantsAll(fields map[string]any, want any) bool {
	for name, inner := range fields {
		below, _ := inner.(map[string]any)
		switch {
		case name == ".":
		case strings.HasPrefix(name, "f:"):
			m, ok := want.(map[string]any)
			value, has := m[name[2:]]
			if !ok || !has || !wantsAll(below, value) {
				return false
			}
		case strings.HasPrefix(name, "k:"):
			item, ok := itemOf(want, name[2:])
			if !ok || !wantsAll(below, item) {
				return false
			}
		case strings.HasPrefix(name, "v:"):
			if !hasValue(want, name[2:]) {
				return false
			}
		}
	}
	return true
}

// itemOf returns the item of a list with a key, such as {"port":80,"protocol":"TCP"}. Fields that the item does not
// have are defaults of the API server.
func itemOf(list any, key string) (any, bool) {
	var want map[string]any
	if json.Unmarshal([]byte(key), &want) != nil {
		return nil, false
	}
	items, _ := list.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		matches := m != nil
		for name, value := range want {
			if has, ok := m[name]; ok && !sameScalar(has, value) {
				matches = false
			}
		}
		if matches {
			return item, true
		}
	}
	return nil, false
}

func hasValue(list any, text string) bool {
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return false
	}
	items, _ := list.([]any)
	for _, item := range items {
		if sameScalar(item, want) {
			return true
		}
	}
	return false
}

// sameScalar compares values, one of which may be decoded with float64 for all numbers.
func sameScalar(a, b any) bool {
	return reflect.DeepEqual(asFloat(a), asFloat(b))
}

func asFloat(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}
