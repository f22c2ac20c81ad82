package predicate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// Predicate reports whether it matches a document.
type Predicate func(metadata.Document) bool

// All matches every document.
func All(metadata.Document) bool { return true }

// maxDepth limits the nesting of predicates.
const maxDepth = 100

// Compile returns the predicate of a value of JSON. A string, or nil, matches everything. Errors name the field.
func Compile(in any) (Predicate, error) {
	switch in.(type) {
	case nil, string:
		return All, nil
	}
	return compile(in, nil, 0)
}

// expression is a predicate that is being compiled.
type expression struct {
	op         string
	path       metadata.Path
	value      any
	has        map[string]bool
	ignoreCase bool
	apply      []any
}

func compile(in any, root metadata.Path, depth int) (Predicate, error) {
	object, is := in.(map[string]any)
	if !is {
		return nil, fmt.Errorf("a predicate must be an object, is %v", in)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("predicates are nested deeper than %d", maxDepth)
	}
	e, err := parse(object, root)
	if err != nil {
		return nil, err
	}
	switch e.op {
	case "and", "or", "not":
		return e.compileApply(depth)
	}
	for _, field := range needs[e.op] {
		if !e.has[field] {
			return nil, fmt.Errorf("%s: is required with op %s", field, e.op)
		}
	}
	for field := range e.has {
		if field != "op" && !slices.Contains(needs[e.op], field) && (field != "ignore_case" || !slices.Contains(caseless, e.op)) {
			return nil, fmt.Errorf("%s: is no field of op %s", field, e.op)
		}
	}
	match, err := e.matcher()
	if err != nil {
		return nil, err
	}
	path := e.path
	return func(d metadata.Document) bool { return match(d.Lookup(path)) }, nil
}

// needs are the required fields by operation, except those of and, or and not.
var needs = map[string][]string{
	"test": {"path", "value"}, "defined": {"path"}, "undefined": {"path"}, "contains": {"path", "value"},
	"starts": {"path", "value"}, "ends": {"path", "value"}, "less": {"path", "value"}, "more": {"path", "value"},
	"range": {"path", "value"}, "in": {"path", "value"}, "matches": {"path", "value"}, "type": {"path", "value"},
	"within": {"path", "value"}, "contained": {"path", "value"}, "intersects": {"path", "value"},
}

// caseless are the operations with the field ignore_case.
var caseless = []string{"test", "contains", "starts", "ends", "matches"}

func parse(object map[string]any, root metadata.Path) (*expression, error) {
	e := &expression{path: root, has: map[string]bool{}}
	for key, value := range object {
		e.has[key] = true
		is := true
		switch key {
		case "op":
			e.op, is = value.(string)
		case "path":
			var pointer string
			if pointer, is = value.(string); is {
				e.path = slices.Concat(root, metadata.ParsePath(pointer))
			}
		case "value":
			e.value = value
		case "ignore_case":
			e.ignoreCase, is = value.(bool)
		case "apply":
			e.apply, is = value.([]any)
		default:
			return nil, fmt.Errorf("%s: unknown field", key)
		}
		if !is {
			return nil, fmt.Errorf("%s: has the wrong type", key)
		}
	}
	if _, known := needs[e.op]; !known && e.op != "and" && e.op != "or" && e.op != "not" {
		all := append(slices.Sorted(maps.Keys(needs)), "and", "or", "not")
		return nil, fmt.Errorf("op: %q is none of %s", e.op, strings.Join(all, ", "))
	}
	return e, nil
}

// compileApply compiles and, or and not. The path is a prefix of those below.
func (e *expression) compileApply(depth int) (Predicate, error) {
	if !e.has["apply"] {
		return nil, fmt.Errorf("apply: is required with op %s", e.op)
	}
	if e.has["value"] || e.has["ignore_case"] {
		return nil, fmt.Errorf("value: is no field of op %s", e.op)
	}
	all := make([]Predicate, len(e.apply))
	for i, one := range e.apply {
		var err error
		if all[i], err = compile(one, e.path, depth+1); err != nil {
			return nil, fmt.Errorf("apply[%d].%w", i, err)
		}
	}
	if e.op == "and" {
		return func(d metadata.Document) bool {
			for _, p := range all {
				if !p(d) {
					return false
				}
			}
			return true
		}, nil
	}
	wanted := e.op == "or" // not: none of them matches
	return func(d metadata.Document) bool {
		for _, p := range all {
			if p(d) {
				return wanted
			}
		}
		return !wanted
	}, nil
}
