package model_test

import (
	"net/netip"
	"reflect"
	"strconv"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

func TestEqualContentHasEqualHash(t *testing.T) {
	a, b := whole[model.View](t), whole[model.View](t)
	if model.Hash(a) != model.Hash(b) {
		t.Error("equal views have different hashes")
	}
	if got := len(model.Hash(a)); got != 32 {
		t.Errorf("got %d hexadecimal digits, want 32", got)
	}
}

// Replicas compare versions that contain hashes, and replicas may run different builds.
func TestHashIsStable(t *testing.T) {
	if got, want := model.Hash(model.Key{Mesh: "m", Name: "n"}), "24c21a707be46af18e2810a337c85314"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHashIgnoresOrigins(t *testing.T) {
	a, b := whole[model.View](t), whole[model.View](t)
	moved := 0
	eachLeaf(reflect.ValueOf(&b).Elem(), "View", func(path string, v reflect.Value, inOrigin bool) {
		if inOrigin && v.Kind() == reflect.String {
			v.SetString("elsewhere")
			moved++
		}
	})
	if moved < 20 {
		t.Fatalf("got %d fields of origins, want at least 20", moved)
	}
	if model.Hash(a) != model.Hash(b) {
		t.Error("the hash depends on origins")
	}
}

// Changing any single field changes the hash, also for fields that are added later.
func TestHashCoversEveryField(t *testing.T) {
	view, all := whole[model.View](t), whole[model.Model](t)
	for name, item := range map[string]reflect.Value{
		"View": reflect.ValueOf(&view).Elem(), "Model": reflect.ValueOf(&all).Elem(),
	} {
		t.Run(name, func(t *testing.T) {
			before, changed := model.Hash(item.Interface()), 0
			eachLeaf(item, name, func(path string, v reflect.Value, inOrigin bool) {
				if inOrigin {
					return
				}
				kept := reflect.New(v.Type()).Elem()
				kept.Set(v)
				change(t, path, v)
				if model.Hash(item.Interface()) == before {
					t.Errorf("the hash does not depend on %s", path)
				}
				v.Set(kept)
				changed++
			})
			if changed < 50 {
				t.Errorf("got %d fields, want at least 50", changed)
			}
			if model.Hash(item.Interface()) != before {
				t.Error("the hash differs after all fields are restored")
			}
		})
	}
}

// Adjacent strings and lists have an unambiguous encoding.
func TestHashSeparatesFields(t *testing.T) {
	for name, pair := range map[string][2]any{
		"strings":           {model.Key{Mesh: "ab", Name: "c"}, model.Key{Mesh: "a", Name: "bc"}},
		"two lists":         {model.Action{ForwardChain: []string{"a"}}, model.Action{ReverseChain: []string{"a"}}},
		"one and two items": {model.Service{Aliases: []string{"ab"}}, model.Service{Aliases: []string{"a", "b"}}},
		"nil and empty":     {model.Rewrite{}, model.Rewrite{PathPrefix: new("")}},
		"string and number": {model.MetadataSet{Value: "1"}, model.MetadataSet{Value: 1.0}},
		"bool and number":   {model.MetadataSet{Value: true}, model.MetadataSet{Value: 1}},
		"map keys":          {map[string]any{"a": "b", "c": "d"}, map[string]any{"a": "d", "c": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if model.Hash(pair[0]) == model.Hash(pair[1]) {
				t.Errorf("%v and %v have the same hash", pair[0], pair[1])
			}
		})
	}
}

// whole returns a value with all fields set, one element in each list, and non-nil pointers.
func whole[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := 0
	fill(reflect.ValueOf(&v).Elem(), &n, 0)
	return v
}

func fill(v reflect.Value, n *int, depth int) {
	*n++
	if !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{10, 0, byte(*n >> 8), byte(*n)})))
		return
	case netip.AddrPort:
		v.Set(reflect.ValueOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(*n >> 8), byte(*n)}), 9)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("s" + strconv.Itoa(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * int64(time.Second))
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(*n))
	case reflect.Interface:
		v.Set(reflect.ValueOf("any" + strconv.Itoa(*n)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n, depth)
		}
	case reflect.Slice:
		if v.Type().Elem() == reflect.TypeFor[model.Predicate]() && depth > 1 {
			return // predicates are recursive
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n, depth+1)
	}
}

// eachLeaf visits every scalar value and every list.
func eachLeaf(v reflect.Value, path string, visit func(path string, v reflect.Value, inOrigin bool)) {
	walk(v, path, false, visit)
}

func walk(v reflect.Value, path string, inOrigin bool, visit func(string, reflect.Value, bool)) {
	inOrigin = inOrigin || v.Type() == reflect.TypeFor[model.Origin]()
	switch v.Interface().(type) {
	case netip.Addr, netip.AddrPort:
		visit(path, v, inOrigin)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				ofOrigin := v.Type() == reflect.TypeFor[model.Backend]() && (field.Name == "Path" || field.Name == "Object") ||
					v.Type() == reflect.TypeFor[model.GroupReference]() && field.Name == "Path"
				walk(value, path+"."+field.Name, inOrigin || ofOrigin, visit)
			}
		}
	case reflect.Slice:
		visit(path, v, inOrigin)
		for i := range v.Len() {
			walk(v.Index(i), path+"["+strconv.Itoa(i)+"]", inOrigin, visit)
		}
	case reflect.Pointer:
		visit(path, v, inOrigin)
		if !v.IsNil() {
			walk(v.Elem(), path, inOrigin, visit)
		}
	default:
		visit(path, v, inOrigin)
	}
}

func change(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("fd00::1")))
		return
	case netip.AddrPort:
		v.Set(reflect.ValueOf(netip.MustParseAddrPort("[fd00::1]:1")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "'")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint16, reflect.Uint32:
		v.SetUint(v.Uint() + 1)
	case reflect.Interface:
		v.Set(reflect.ValueOf("another"))
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		} else {
			v.Set(reflect.Zero(v.Type()))
		}
	case reflect.Pointer:
		v.Set(reflect.Zero(v.Type()))
	default:
		t.Fatalf("%s: cannot change a value of type %s", path, v.Type())
	}
}
