package model

import (
	"regexp"
	"slices"
	"strings"
)

// Predicate is a JSON Predicate (draft-snell-json-test-07) over a connection's metadata.
type Predicate struct {
	// Op is one of test, defined, undefined, contains, starts, ends, matches, in, less, more, and, or, not.
	Op string `json:"op"`
	// Path is a slash-separated pointer: /HTTP/headers/x.
	Path       string      `json:"path,omitempty"`
	Value      any         `json:"value,omitempty"`
	IgnoreCase bool        `json:"ignoreCase,omitempty"`
	Apply      []Predicate `json:"apply,omitempty"`
}

// Matches evaluates the predicate. A comparison that does not fit the type of the value is false, never an error.
func (p Predicate) Matches(metadata map[string]any) bool {
	switch p.Op {
	case "and":
		return !slices.ContainsFunc(p.Apply, func(c Predicate) bool { return !c.Matches(metadata) })
	case "or":
		return len(p.Apply) == 0 || slices.ContainsFunc(p.Apply, func(c Predicate) bool { return c.Matches(metadata) })
	case "not":
		return !slices.ContainsFunc(p.Apply, func(c Predicate) bool { return c.Matches(metadata) })
	}
	value, found := lookup(metadata, p.Path)
	switch p.Op {
	case "defined":
		return found
	case "undefined":
		return !found
	case "test":
		return found && p.equal(value, p.Value)
	case "in":
		list, ok := p.Value.([]any)
		return found && ok && slices.ContainsFunc(list, func(v any) bool { return p.equal(value, v) })
	case "less", "more":
		have, ok1 := number(value)
		want, ok2 := number(p.Value)
		return ok1 && ok2 && (p.Op == "less" && have < want || p.Op == "more" && have > want)
	}
	have, ok1 := value.(string)
	want, ok2 := p.Value.(string)
	if !ok1 || !ok2 {
		return false
	}
	if p.IgnoreCase {
		have, want = strings.ToLower(have), strings.ToLower(want)
	}
	switch p.Op {
	case "contains":
		return strings.Contains(have, want)
	case "starts":
		return strings.HasPrefix(have, want)
	case "ends":
		return strings.HasSuffix(have, want)
	case "matches":
		re, err := regexp.Compile(want)
		return err == nil && re.MatchString(have)
	}
	return false
}

func (p Predicate) equal(a, b any) bool {
	if p.IgnoreCase {
		x, ok1 := a.(string)
		y, ok2 := b.(string)
		if ok1 && ok2 {
			return strings.EqualFold(x, y)
		}
	}
	return Hash(&a) == Hash(&b)
}

// lookup follows a pointer through nested objects.
func lookup(metadata map[string]any, path string) (any, bool) {
	var at any = metadata
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[step]; !ok {
			return nil, false
		}
	}
	return at, true
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}
