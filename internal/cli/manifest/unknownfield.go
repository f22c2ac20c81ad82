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
	meant, near := spelling.Meant(key, absent)
	whole, begins := spelling.Completes(key, absent)
	at, found := below(key, parents[len(parents)-1])
	if !found && !near {
		at, found = around(key, parents[:len(parents)-1])
	}
	hint := ""
	switch {
	case found:
		hint = ". Did you mean " + at.path + "? Check the indentation"
		at.set(value)
	case near:
		hint = ". Did you mean " + meant + "?"
		object[meant] = value
		r.document.rename(path, meant, key)
	case begins:
		hint = ". Did you mean " + whole + "?"
	case path != "" && len(fields) <= maxListed:
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

// general are names that many structs have: such a field belongs below another one only if there is little choice.
var general = []string{"name", "namespace", "port", "value", "type", "kind"}

// below finds the only struct below another one, at most two levels deep, that has a field and not yet a value for it.
func below(key string, p parent) (place, bool) {
	paths := within(p.t, key, 3)
	if len(paths) != 1 || slices.Contains(general, key) && len(structFields(p.t)) > 2 {
		return place{}, false
	}
	steps := strings.Split(paths[0], ".")
	object := p.value
	for i, step := range steps {
		inner, present := object[step]
		next, is := inner.(map[string]any)
		if i == len(steps)-1 && present || present && !is {
			return place{}, false
		}
		object = next
	}
	return place{join(p.path, paths[0]), func(value any) { setIn(p.value, steps, value) }}, true
}

// around finds the nearest struct around a value that has a field and not yet a value for it.
func around(key string, parents []parent) (place, bool) {
	for _, p := range slices.Backward(parents) {
		if _, present := p.value[key]; structFields(p.t)[key] != nil && !slices.Contains(general, key) {
			return place{join(p.path, key), func(value any) { p.value[key] = value }}, !present
		}
	}
	return place{}, false
}

// setIn sets a field, and makes the structs around it.
func setIn(object map[string]any, steps []string, value any) {
	for _, step := range steps[:len(steps)-1] {
		next, is := object[step].(map[string]any)
		if !is {
			next = map[string]any{}
			object[step] = next
		}
		object = next
	}
	object[steps[len(steps)-1]] = value
}
