package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/model"
)

// parent is a struct around a value.
type parent struct {
	path  string
	value map[string]any
	t     reflect.Type
}

// unknown renames or moves an unknown field, or removes it.
func (r *repairer) unknown(path, key string, object map[string]any, fields map[string]reflect.Type, parents []parent) {
	value := object[key]
	delete(object, key)
	var absent []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, present := object[name]; !present {
			absent = append(absent, name)
		}
	}
	hint := ""
	if meant, near := spelling.Meant(key, absent); near {
		hint = ". Did you mean " + meant + "?"
		object[meant] = value
		r.document.rename(path, meant, key)
	} else if place, found := elsewhere(key, parents); found {
		hint = ". Did you mean " + place.path + "? Check the indentation"
		place.set(value)
	} else if whole, is := spelling.Completes(key, absent); is {
		hint = ". Did you mean " + whole + "?"
	} else if path != "" && len(fields) <= maxListed {
		hint = ". Known fields: " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	}
	r.fault(join(path, key), model.CodeUnknownField, unknownField+"%s", r.document.GVK.Kind, hint)
}

// unknownField is the text of a finding about an unknown field of a kind.
const unknownField = "unknown field of %s; the API server refuses or drops it"

// maxListed is the number of fields that a finding lists.
const maxListed = 8

// place is where a field belongs.
type place struct {
	path string
	set  func(value any)
}

// elsewhere finds the only other place of a field: below its struct, or in a struct around it.
func elsewhere(key string, parents []parent) (place, bool) {
	inner := parents[len(parents)-1]
	if paths := within(inner.t, key, 3); len(paths) == 1 {
		steps := strings.Split(paths[0], ".")
		return place{join(inner.path, paths[0]), func(value any) { setIn(inner.value, steps, value) }}, true
	} else if len(paths) > 1 {
		return place{}, false
	}
	for _, p := range slices.Backward(parents[:len(parents)-1]) {
		if structFields(p.t)[key] == nil {
			continue
		}
		_, present := p.value[key]
		return place{join(p.path, key), func(value any) { setIn(p.value, []string{key}, value) }}, !present
	}
	return place{}, false
}

// setIn sets a field that is absent.
func setIn(object map[string]any, steps []string, value any) {
	inner, present := object[steps[0]]
	if len(steps) == 1 {
		if !present {
			object[steps[0]] = value
		}
		return
	}
	next, is := inner.(map[string]any)
	if !is {
		if present && inner != nil {
			return
		}
		next = map[string]any{}
		object[steps[0]] = next
	}
	setIn(next, steps[1:], value)
}
