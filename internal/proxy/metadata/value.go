package metadata

import (
	"maps"
	"slices"
	"strconv"
)

// Kind is the type of a value.
type Kind uint8

// The types of values.
const (
	Undefined Kind = iota
	Null
	Bool
	Number
	String
	Other // a list or an object
)

// Value is a value of JSON, or undefined.
type Value struct {
	Kind Kind
	Text string  // of a String. It is valid as long as the document is
	Num  float64 // of a Number; 1 for true
	Any  any     // of Other: []any or map[string]any
}

// Of returns the value of v: nil, bool, int, float64, string, []any or map[string]any.
func Of(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{Kind: Null}
	case bool:
		if v {
			return Value{Kind: Bool, Num: 1}
		}
		return Value{Kind: Bool}
	case int:
		return Value{Kind: Number, Num: float64(v)}
	case float64:
		return Value{Kind: Number, Num: v}
	case string:
		return Value{Kind: String, Text: v}
	}
	return Value{Kind: Other, Any: v}
}

// Text returns the value of a string.
func Text(s string) Value { return Value{Kind: String, Text: s} }

// Interface returns the value in the form that Of takes; nil if it is undefined.
func (v Value) Interface() any {
	switch v.Kind {
	case Bool:
		return v.Num != 0
	case Number:
		return v.Num
	case String:
		return v.Text
	case Other:
		return v.Any
	}
	return nil
}

// Append appends the value as text, for hashes: equal values have equal texts.
func (v Value) Append(to []byte) []byte {
	switch v.Kind {
	case Undefined, Null:
		return append(to, "null"...)
	case Bool:
		return strconv.AppendBool(to, v.Num != 0)
	case Number:
		return strconv.AppendFloat(to, v.Num, 'g', -1, 64)
	case String:
		return append(to, v.Text...)
	}
	switch v := v.Any.(type) {
	case []any:
		to = append(to, '[')
		for _, one := range v {
			to = append(Of(one).Append(to), ',')
		}
		return append(to, ']')
	case map[string]any:
		to = append(to, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			to = append(append(to, key...), ':')
			to = append(Of(v[key]).Append(to), ',')
		}
		return append(to, '}')
	}
	return to
}

// Equal reports whether two values are deeply equal.
func (v Value) Equal(w Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	if v.Kind != Other {
		return v.Text == w.Text && v.Num == w.Num
	}
	switch a := v.Any.(type) {
	case []any:
		b, is := w.Any.([]any)
		return is && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, is := w.Any.(map[string]any)
		return is && maps.EqualFunc(a, b, equal)
	}
	return false
}

func equal(a, b any) bool { return Of(a).Equal(Of(b)) }
