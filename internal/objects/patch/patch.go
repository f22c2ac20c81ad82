// Package patch creates JSON patches that keep unknown fields.
//
// In: an object as received from the API server, and its typed view before and after a change. Out: the JSON patch
// that makes the same change to the received object. Fields that the type does not have stay unchanged, and defaults
// of the type are not added.
package patch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
)

// Diff returns the patch, or nil if before and after are equal. raw must be a JSON object; before and after must
// encode as JSON objects.
func Diff(raw []byte, before, after any) ([]jsonpatch.Operation, error) {
	whole, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}
	was, err := toGeneric(before)
	if err != nil {
		return nil, err
	}
	is, err := toGeneric(after)
	if err != nil {
		return nil, err
	}
	if equal(was, is) {
		return nil, nil
	}
	return diff(nil, "", whole, merge(whole, was, is)), nil
}

// merge applies the change from before to after to raw.
func merge(raw, before, after any) any {
	if equal(before, after) {
		return raw
	}
	switch after := after.(type) {
	case map[string]any:
		rawMap, ok1 := raw.(map[string]any)
		beforeMap, ok2 := before.(map[string]any)
		if ok1 && ok2 {
			return mergeMaps(rawMap, beforeMap, after)
		}
	case []any:
		rawList, ok1 := raw.([]any)
		beforeList, ok2 := before.([]any)
		if ok1 && ok2 && len(rawList) == len(beforeList) {
			return mergeLists(rawList, beforeList, after)
		}
	}
	return after
}

func mergeMaps(raw, before, after map[string]any) map[string]any {
	out := make(map[string]any, len(raw)+len(after))
	for name, value := range raw {
		_, was := before[name]
		if _, is := after[name]; !was || is {
			out[name] = value
		}
	}
	for name, value := range after {
		was, known := before[name]
		if !known {
			out[name] = value
		} else if !equal(was, value) {
			out[name] = merge(raw[name], was, value)
		}
	}
	return out
}

// mergeLists merges elements with the same index and name. Elements whose name has another index are merged with that
// index; all others are new.
func mergeLists(raw, before, after []any) []any {
	out := make([]any, len(after))
	taken := make([]bool, len(before))
	for i, value := range after {
		at := i
		if i >= len(before) || nameOf(before[i]) != nameOf(value) {
			at = slices.IndexFunc(before, func(was any) bool {
				return nameOf(was) != "" &&
					nameOf(was) == nameOf(value)
			})
		}
		if at < 0 || taken[at] {
			out[i] = value
			continue
		}
		taken[at] = true
		out[i] = merge(raw[at], before[at], value)
	}
	return out
}

func nameOf(element any) string {
	object, _ := element.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// diff appends the operations that change one value to another, sorted by path, so that equal changes give equal
// patches. Elements that are appended to a list are added; shorter lists are replaced.
func diff(to []jsonpatch.Operation, path string, from, into any) []jsonpatch.Operation {
	if equal(from, into) {
		return to
	}
	switch into := into.(type) {
	case map[string]any:
		if from, ok := from.(map[string]any); ok {
			return diffMaps(to, path, from, into)
		}
	case []any:
		if from, ok := from.([]any); ok && len(from) <= len(into) {
			for i, value := range into {
				at := path + "/" + strconv.Itoa(i)
				if i < len(from) {
					to = diff(to, at, from[i], value)
				} else {
					to = append(to, jsonpatch.NewOperation("add", at, value))
				}
			}
			return to
		}
	}
	return append(to, jsonpatch.NewOperation("replace", path, into))
}

func diffMaps(to []jsonpatch.Operation, path string, from, into map[string]any) []jsonpatch.Operation {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, stays := into[name]; !stays {
			to = append(to, jsonpatch.NewOperation("remove", path+"/"+pointerEscaper.Replace(name), nil))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(into)) {
		at := path + "/" + pointerEscaper.Replace(name)
		if old, was := from[name]; was {
			to = diff(to, at, old, into[name])
		} else {
			to = append(to, jsonpatch.NewOperation("add", at, into[name]))
		}
	}
	return to
}

// pointerEscaper escapes a name for a JSON pointer (RFC 6901).
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func toGeneric(typed any) (any, error) {
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("%T: %w", typed, err)
	}
	return decode(text)
}

// decode decodes JSON and keeps the text of numbers.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	return out, decoder.Decode(&out)
}

// equal compares decoded values.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, same := b.(map[string]any)
		return same && maps.EqualFunc(a, b, equal)
	case []any:
		b, same := b.([]any)
		return same && slices.EqualFunc(a, b, equal)
	}
	return a == b
}
