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
		t.Error("two views that were made alike have different hashes")
	}
	if got := len(model.Hash(a)); got != 32 {
		t.Errorf("a hash has %d hexadecimal digits, not 32", got)
	}
}

// A hash is written into versions that other replicas compare with theirs, and replicas may be of one release and two
// builds.
func TestHashIsStable(t *testing.T) {
	if got, want := model.Hash(model.Key{Mesh: "m", Name: "n"}), "24c21a707be46af18e2810a337c85314"; got != want {
		t.Errorf("hash of a key: %s, want %s", got, want)
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
		t.Fatalf("only %d fields of origins were found", moved)
	}
	if model.Hash(a) != model.Hash(b) {
		t.Error("the hash changes with origins")
	}
}

// TestHashCoversEveryField changes each field of each type that views and models are made of, one at a time: a field
// that somebody adds is part of the hash without further thought.
func TestHashCoversEveryField(t *testing.T) {
	view, all := whole[model.View](t), whole[model.Model](t)
	for name, item := range map[string]reflect.Value{
		"View": reflect.ValueOf(&view).Elem(), "Model": reflect.ValueOf(&all).Elem(),
	} {
		before, changed := model.Hash(item.Interface()), 0
		eachLeaf(item, name, func(path string, v reflect.Value, inOrigin bool) {
			if inOrigin {
				return
			}
			kept := reflect.New(v.Type()).Elem()
			kept.Set(v)
			change(t, path, v)
			if model.Hash(item.Interface()) == before {
				t.Errorf("%s changed, the hash did not", path)
			}
			v.Set(kept)
			changed++
		})
		if changed < 50 {
			t.Errorf("%s: only %d fields were found", name, changed)
		}
		if model.Hash(item.Interface()) != before {
			t.Errorf("%s: with every field as it was, the hash is another", name)
		}
	}
}

// Strings and lists next to each other must not run into one another.
func TestHashSeparatesFields(t *testing.T) {
	for name, pair := range map[string][2]any{
		"strings":          {model.Key{Mesh: "ab", Name: "c"}, model.Key{Mesh: "a", Name: "bc"}},
		"list and list":    {model.Action{ForwardChain: []string{"a"}}, model.Action{ReverseChain: []string{"a"}}},
		"one item and two": {model.Service{Aliases: []string{"ab"}}, model.Service{Aliases: []string{"a", "b"}}},
		"nil and empty":    {model.Rewrite{}, model.Rewrite{PathPrefix: new("")}},
		"text and number":  {model.MetadataSet{Value: "1"}, model.MetadataSet{Value: 1.0}},
		"truth and number": {model.MetadataSet{Value: true}, model.MetadataSet{Value: 1}},
		"keys of a map":    {map[string]any{"a": "b", "c": "d"}, map[string]any{"a": "d", "c": "b"}},
	} {
		if model.Hash(pair[0]) == model.Hash(pair[1]) {
			t.Errorf("%s: %v and %v have one hash", name, pair[0], pair[1])
		}
	}
}

// whole makes a value with every field set: one element in each list, something behind each pointer.
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
			return // predicates hold predicates
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n, depth+1)
	}
}

// eachLeaf visits every value without parts, and every list as a whole.
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
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, inOrigin, visit)
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
		t.Fatalf("%s: this test does not know how to change a %s", path, v.Type())
	}
}
