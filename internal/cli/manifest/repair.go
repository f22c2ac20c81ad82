package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/model"
)

// Repair replaces what is certainly wrong with what was meant, so that one mistake has one finding and hides no other:
// misspelled kinds and fields, fields in the wrong place, and values of another kind, such as a number in quotation
// marks. What cannot be repaired is left out. types are the types of the kinds to repair; exists reports whether
// Kubernetes has a kind.
func Repair(documents []*Document, types map[schema.GroupVersionKind]reflect.Type,
	exists func(schema.GroupVersionKind) bool) []Fault {
	var out []Fault
	for _, d := range documents {
		if fault := d.repairBuiltin(types, exists); fault != nil {
			out = append(out, *fault)
		} else if fault := d.repairKind(types); fault != nil {
			out = append(out, *fault)
		}
		if t := types[d.GVK]; t != nil {
			out = append(out, d.repair(t, types)...)
		}
	}
	return out
}

// repairer repairs a document.
type repairer struct {
	document *Document
	// types are the types of embedded objects.
	types  map[schema.GroupVersionKind]reflect.Type
	faults []Fault
}

func (d *Document) repair(t reflect.Type, types map[schema.GroupVersionKind]reflect.Type) []Fault {
	content, err := decodeNumbers(d.JSON)
	if err != nil {
		return nil // parse reports it
	}
	r := repairer{document: d, types: types}
	object, is := content.(map[string]any)
	if !is {
		return nil
	}
	r.names("", object, t, nil)
	if len(r.faults) > 0 {
		d.JSON = encode(object)
	}
	spelled := len(r.faults)
	if r.values("", object, t); len(r.faults) > spelled {
		d.lenient = encode(object)
	}
	var h head
	if json.Unmarshal(d.Content(), &h) == nil {
		d.Ref.Namespace, d.Ref.Name = h.Metadata.Namespace, h.Metadata.Name
	}
	for i := range r.faults {
		r.faults[i].Object = d.Ref
	}
	return r.faults
}

// names repairs the names of fields. parents are the structs around the value, from the outermost.
func (r *repairer) names(path string, value any, t reflect.Type, parents []parent) {
	if t = target(t); value == nil {
		return
	}
	if decodesItself(t) {
		if inner := r.embedded(value, t); inner != nil {
			r.names(path, value, inner, nil)
		}
		return
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if t.Kind() == reflect.Slice {
				r.names(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), parents)
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Slice: // an object instead of a list of it
			r.names(path, value, t.Elem(), parents)
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				r.names(PathOf(path, key), v[key], t.Elem(), parents)
			}
		case reflect.Struct:
			fields := structFields(t)
			parents = append(slices.Clone(parents), parent{path, v, t})
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if fields[key] == nil {
					r.unknown(path, key, v, fields, parents)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				r.names(join(path, key), v[key], fields[key], parents)
			}
		}
	}
}

// values repairs the kinds of values. It returns the repaired value, and false if it has to be left out.
func (r *repairer) values(path string, value any, t reflect.Type) (any, bool) {
	t = target(t)
	if value == nil || t.Kind() == reflect.Interface {
		return value, true
	}
	if decodesItself(t) {
		if inner := r.embedded(value, t); inner != nil {
			return r.values(path, value, inner)
		}
		return value, r.decodes(path, value, t)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		object, is := value.(map[string]any)
		if !is {
			return r.wrong(path, value, t)
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			at, inner := join(path, key), structFields(t)[key]
			if t.Kind() == reflect.Map {
				at, inner = PathOf(path, key), t.Elem()
			} else if inner == nil {
				continue
			}
			repaired, keep := r.values(at, object[key], inner)
			if object[key] = repaired; !keep {
				delete(object, key)
			}
		}
		return object, true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			break
		}
		list, is := value.([]any)
		if !is {
			return r.wrong(path, value, t)
		}
		kept := list[:0:0]
		for i, item := range list {
			repaired, keep := r.values(fmt.Sprintf("%s[%d]", path, i), item, t.Elem())
			if keep {
				kept = append(kept, repaired)
			}
		}
		return kept, true
	}
	if json.Unmarshal(encode(value), reflect.New(t).Interface()) == nil {
		return value, true
	}
	return r.wrong(path, value, t)
}

// embedded is the type of an object in a field for objects of any kind; nil if the kind is not known.
func (r *repairer) embedded(value any, t reflect.Type) reflect.Type {
	object, is := value.(map[string]any)
	if !is || t != reflect.TypeFor[runtime.RawExtension]() {
		return nil
	}
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return r.types[schema.FromAPIVersionAndKind(version, kind)]
}

// wrong reports a value of the wrong kind, and converts it.
func (r *repairer) wrong(path string, value any, t reflect.Type) (any, bool) {
	repaired, ok := convert(value, t)
	found, needed := kindOfValue(value), kindName(t)
	text := WrongKind(found, needed)
	switch {
	case found == needed:
		text = "the value is not valid: the field needs " + rangeOf(t)
	case found == "a string" && ok:
		text += "; remove the quotation marks"
	}
	r.fault(path, model.CodeUnreadable, "%s", text)
	return repaired, ok
}

// convert converts a value to the kind of a type, and reports whether it can.
func convert(value any, t reflect.Type) (any, bool) {
	switch v := value.(type) {
	case json.Number:
		value = v.String()
	case bool:
		value = strconv.FormatBool(v)
	case string:
		if t.Kind() == reflect.Bool {
			b, err := strconv.ParseBool(v)
			return b, err == nil
		}
		value = json.Number(strings.TrimSpace(v))
	case map[string]any:
		if t.Kind() != reflect.Slice {
			return nil, false
		}
		return []any{v}, json.Unmarshal(encode([]any{v}), reflect.New(t).Interface()) == nil
	}
	text, err := json.Marshal(value)
	return value, err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

// rangeOf names the kind of a type with its range.
func rangeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int32:
		return "an integer of 32 bits"
	case reflect.Int, reflect.Int64:
		return "an integer of 64 bits"
	case reflect.Slice:
		return "a text in base64"
	}
	return kindName(t)
}

// decodes reports a value that its type cannot decode.
func (r *repairer) decodes(path string, value any, t reflect.Type) bool {
	if json.Unmarshal(encode(value), reflect.New(t).Interface()) == nil {
		return true
	}
	found := kindOfValue(value)
	if text, is := value.(string); is {
		found = strconv.Quote(text)
	}
	needed := kindsOfText[t.Name()]
	if needed == "" {
		needed = "another value"
	}
	r.fault(path, model.CodeUnreadable, "%s", WrongKind(found, needed))
	return false
}

func (r *repairer) fault(path string, code model.Code, format string, args ...any) {
	r.faults = append(r.faults, r.document.fault(path, code, format, args...))
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// decodeNumbers decodes JSON, and keeps the text of numbers.
func decodeNumbers(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	err := decoder.Decode(&out)
	return out, err
}

// encode encodes a value that was decoded from JSON.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // decoded values can be encoded
	}
	return text
}
