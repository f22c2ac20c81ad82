// Package patch computes JSON patches that keep unknown fields.
//
// In: the raw object from the API server, and its decoded form before and after a change. Out: the JSON patch that
// makes the same change to the raw object. Fields that the Go type does not have stay unchanged, and zero values of the
// Go type are not added.
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

// Of returns the patch; it is empty if before and after are equal. raw must be a JSON object, and before and after must
// encode as one.
func Of(raw []byte, before, after any) ([]jsonpatch.Operation, error) {
	whole, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the object: %w", err)
	}
	was, err := generic(before)
	if err != nil {
		return nil, err
	}
	is, err := generic(after)
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

// mergeLists pairs elements with the same index and the same or no name, else elements with the same name.
func mergeLists(raw, before, after []any) []any {
	out := make([]any, len(after))
	taken := make([]bool, len(before))
	for i, value := range after {
		at := i
		if i >= len(before) || nameOf(before[i]) != nameOf(value) {
			at = slices.IndexFunc(before, func(was any) bool { return nameOf(was) != "" && nameOf(was) == nameOf(value) })
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

// diff adds the operations that turn one value into another, in the order of their paths, so that the same change is
// always the same patch. Lists are expected to grow at their end; others are replaced.
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
			to = append(to, jsonpatch.NewOperation("remove", path+"/"+escape.Replace(name), nil))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(into)) {
		at := path + "/" + escape.Replace(name)
		if old, was := from[name]; was {
			to = diff(to, at, old, into[name])
		} else {
			to = append(to, jsonpatch.NewOperation("add", at, into[name]))
		}
	}
	return to
}

// escape escapes a name for a JSON pointer (RFC 6901).
var escape = strings.NewReplacer("~", "~0", "/", "~1")

func generic(typed any) (any, error) {
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

func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
