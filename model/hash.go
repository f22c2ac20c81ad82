package model

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"sort"
)

// Hash returns the content hash of an item, a view or a whole model. Equal content has an equal hash on every machine
// and in every run. Origins and unexported fields are not hashed.
func Hash(item any) string {
	h := sha256.New()
	writeValue(h, reflect.ValueOf(item))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

var (
	originType  = reflect.TypeFor[Origin]()
	backendType = reflect.TypeFor[Backend]()
	groupType   = reflect.TypeFor[GroupReference]()
)

// writeValue writes a value to the hash. A length prefix before each string and list makes the encoding unambiguous.
func writeValue(h hash.Hash, v reflect.Value) {
	if v.IsValid() && v.Type() == originType {
		return
	}
	if v.IsValid() && v.Type() == backendType {
		writeValue(h, v.FieldByName("Service"))
		v = v.FieldByName("ClientPolicy")
	}
	if v.IsValid() && v.Type() == groupType {
		v = v.FieldByName("Group")
	}
	if v.IsValid() && v.CanInterface() {
		if t, ok := v.Interface().(encoding.TextMarshaler); ok && v.Kind() != reflect.Pointer {
			text, err := t.MarshalText()
			if err != nil {
				panic(fmt.Sprintf("model: %T does not marshal: %v", t, err))
			}
			writeBytes(h, text)
			return
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		writeInt(h, -1)
	case reflect.Pointer:
		if v.IsNil() {
			writeInt(h, -1)
			return
		}
		writeInt(h, 1)
		writeValue(h, v.Elem())
	case reflect.Interface:
		writeAny(h, v.Elem())
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				writeValue(h, value)
			}
		}
	case reflect.Slice, reflect.Array:
		writeInt(h, int64(v.Len()))
		for i := range v.Len() {
			writeValue(h, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		writeInt(h, int64(len(keys)))
		for _, k := range keys {
			writeBytes(h, []byte(k.String()))
			writeValue(h, v.MapIndex(k))
		}
	case reflect.String:
		writeBytes(h, []byte(v.String()))
	case reflect.Bool:
		if v.Bool() {
			writeInt(h, 1)
		} else {
			writeInt(h, 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		writeInt(h, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		writeInt(h, int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		writeBytes(h, fmt.Appendf(nil, "%g", v.Float()))
	default:
		panic("model: cannot hash a " + v.Kind().String())
	}
}

// writeAny writes a JSON value with its type: "1" differs from 1, and 1 from true. All numbers have one type, as in
// JSON.
func writeAny(h hash.Hash, v reflect.Value) {
	switch {
	case !v.IsValid():
		writeBytes(h, []byte("null"))
	case v.CanInt():
		writeAny(h, reflect.ValueOf(float64(v.Int())))
	case v.CanUint():
		writeAny(h, reflect.ValueOf(float64(v.Uint())))
	default:
		writeBytes(h, []byte(v.Kind().String()))
		writeValue(h, v)
	}
}

func writeInt(h hash.Hash, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func writeBytes(h hash.Hash, b []byte) {
	writeInt(h, int64(len(b)))
	h.Write(b)
}
