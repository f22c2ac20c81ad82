package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// structFields are the fields of a struct by their name in JSON, with those of embedded structs; none of other types.
func structFields(t reflect.Type) map[string]reflect.Type {
	if known, is := fieldCache.Load(t); is {
		return known.(map[string]reflect.Type)
	}
	out := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return out
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case name == "-" || !f.IsExported():
		case name != "":
			out[name] = f.Type
		case f.Anonymous && embedded.Kind() == reflect.Struct:
			for name, inner := range structFields(embedded) {
				out[name] = inner
			}
		default:
			out[f.Name] = f.Type
		}
	}
	fieldCache.Store(t, out)
	return out
}

var fieldCache sync.Map

// target is the type behind pointers.
func target(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// decodesItself reports whether a type has a method that decodes it.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// within lists the paths, below a struct, of the fields with a name, not deeper than two structs.
func within(t reflect.Type, name string, depth int) []string {
	var out []string
	if t = target(t); t.Kind() != reflect.Struct || decodesItself(t) || depth == 0 {
		return nil
	}
	for field, inner := range structFields(t) {
		if field == name {
			out = append(out, name)
			continue
		}
		for _, path := range within(inner, name, depth-1) {
			out = append(out, field+"."+path)
		}
	}
	slices.Sort(out)
	return out
}

// kindName names the kind of the values of a type as in JSON.
func kindName(t reflect.Type) string {
	switch t = target(t); {
	case decodesItself(t):
		return kindsOfText[t.Name()]
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "an object"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8, t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return "a list"
	case t.Kind() == reflect.Bool:
		return "a boolean"
	case t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "an integer"
	}
	return "another value"
}

// kindsOfText are the kinds of values that types of Kubernetes decode.
var kindsOfText = map[string]string{
	"Quantity": "a quantity, for example 100m or 64Mi", "IntOrString": "an integer or a string", "Time": "a time of RFC 3339",
	"MicroTime": "a time of RFC 3339", "Duration": "a duration, for example 10s", "RawExtension": "an object",
}

// kindOfValue names the kind of a decoded value.
func kindOfValue(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "a number"
		}
		return "an integer"
	}
	return "null"
}

// WrongKind is the text of a finding about a value of the wrong kind. The kinds have their article.
func WrongKind(found, needed string) string {
	text := "the value is " + found + ", but the field needs " + needed
	switch {
	case needed == "a string" && slices.Contains([]string{"an integer", "a number", "a boolean"}, found):
		text += "; set it in quotation marks"
	case needed == "a list" && found == "an object":
		text += "; begin each item with a dash"
	}
	return text
}
