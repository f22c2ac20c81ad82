package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// decoder is implemented by types that have several forms.
type decoder interface {
	decode(path string, in any) error
}

// Decode decodes a value of JSON into an object, and checks it. Errors begin with the path of the field. The path is
// that of the object.
func Decode(path string, in, out any) error { return decodeObject(path, in, out) }

func decodeObject(path string, in, out any) error {
	return decodeValue(path, in, reflect.ValueOf(out).Elem())
}

func decodeValue(path string, in any, out reflect.Value) error {
	if out.Kind() == reflect.Pointer {
		if in == nil {
			return nil
		}
		out.Set(reflect.New(out.Type().Elem()))
		return decodeValue(path, in, out.Elem())
	}
	if d, is := out.Addr().Interface().(decoder); is {
		return d.decode(path, in)
	}
	switch out.Kind() {
	case reflect.Struct:
		return decodeStruct(path, in, out)
	case reflect.Slice:
		return decodeSlice(path, in, out)
	case reflect.Interface:
		if in != nil {
			out.Set(reflect.ValueOf(in))
		}
		return nil
	case reflect.String:
		if s, is := in.(string); is {
			out.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, is := in.(bool); is {
			out.SetBool(b)
			return nil
		}
	case reflect.Int:
		if n, is := integer(in); is {
			out.SetInt(n)
			return nil
		}
	}
	return fmt.Errorf("%s: must be %s, is %s", path, names[out.Kind()], typeOf(in))
}

var names = map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "true or false", reflect.Int: "an integer"}

func integer(in any) (int64, bool) {
	switch in := in.(type) {
	case int:
		return int64(in), true
	case float64:
		return int64(in), in == math.Trunc(in) && math.Abs(in) < 1<<53
	}
	return 0, false
}

func decodeSlice(path string, in any, out reflect.Value) error {
	if in == nil {
		return nil
	}
	list, is := in.([]any)
	if !is {
		return fmt.Errorf("%s: must be a list, is %s", path, typeOf(in))
	}
	out.Set(reflect.MakeSlice(out.Type(), len(list), len(list)))
	for i, one := range list {
		if err := decodeValue(fmt.Sprintf("%s[%d]%s", path, i, nameOf(one)), one, out.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of an object for errors.
func nameOf(in any) string {
	if object, is := in.(map[string]any); is {
		if name, is := object["name"].(string); is && name != "" {
			return fmt.Sprintf(" %q", name)
		}
	}
	return ""
}

func decodeStruct(path string, in any, out reflect.Value) error {
	object, is := in.(map[string]any)
	if !is {
		return fmt.Errorf("%s: must be an object, is %s", path, typeOf(in))
	}
	prefix := path + "."
	if path == "" {
		prefix = ""
	}
	t := out.Type()
	set := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		i := fieldOf(t, key)
		if i < 0 {
			return fmt.Errorf("%s%s: unknown field", prefix, key)
		}
		name := jsonName(t.Field(i))
		if set[name] {
			return fmt.Errorf("%s%s: is set twice, under two names", prefix, name)
		}
		set[name] = true
		if err := decodeValue(prefix+key, object[key], out.Field(i)); err != nil {
			return err
		}
	}
	if c, is := out.Addr().Interface().(interface {
		check(set map[string]bool) error
	}); is {
		if err := c.check(set); err != nil {
			return fmt.Errorf("%s%w", prefix, err)
		}
	}
	return nil
}

// fieldOf returns the index of the field with a name of JSON, or a negative number.
func fieldOf(t reflect.Type, key string) int {
	for i := range t.NumField() {
		if f := t.Field(i); key != "" && (jsonName(f) == key || f.Tag.Get("alias") == key) {
			return i
		}
	}
	return -1
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func typeOf(in any) string {
	switch in.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
