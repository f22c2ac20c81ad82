// Package fieldpath reads and writes fields of objects by their paths, as definitions of OAM name them.
//
// In: a path such as spec.containers[0].image or metadata.labels[app.oam.dev/name], and the content of an object. Out:
// the value of the field, or an object with the field set.
package fieldpath

import (
	"fmt"
	"strconv"
	"strings"
)

// segment is a key of a map, or an index of a list.
type segment struct {
	key   string
	index int // -1 for a key
}

// Path is a parsed path.
type Path []segment

// Parse parses a path. Keys with dots or brackets are in brackets, with or without quotes.
func Parse(text string) (Path, error) {
	var path Path
	rest := text
	for rest != "" {
		switch rest[0] {
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("field path %q: [ without ]", text)
			}
			inner := strings.Trim(rest[1:end], `'"`)
			if inner == "" {
				return nil, fmt.Errorf("field path %q: empty brackets", text)
			}
			path = append(path, bracketed(inner))
			if rest = rest[end+1:]; rest != "" && rest[0] == '.' {
				if rest = rest[1:]; rest == "" {
					return nil, fmt.Errorf("field path %q: ends with a dot", text)
				}
			}
		default:
			end := strings.IndexAny(rest, ".[")
			if end == 0 {
				return nil, fmt.Errorf("field path %q: empty element", text)
			}
			if end < 0 {
				return append(path, segment{rest, -1}), nil
			}
			path = append(path, segment{rest[:end], -1})
			if rest[end] == '.' {
				if end++; end == len(rest) {
					return nil, fmt.Errorf("field path %q: ends with a dot", text)
				}
			}
			rest = rest[end:]
		}
	}
	if len(path) == 0 || path[0].index >= 0 {
		return nil, fmt.Errorf("field path %q: must begin with a field", text)
	}
	return path, nil
}

func bracketed(inner string) segment {
	if i, err := strconv.Atoi(inner); err == nil && i >= 0 {
		return segment{"", i}
	}
	return segment{inner, -1}
}

// Get returns the value of a field, and whether it exists.
func Get(object map[string]any, path Path) (any, bool) {
	var value any = object
	for _, s := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[s.key]
			if s.index >= 0 || !ok {
				return nil, false
			}
			value = next
		case []any:
			if s.index < 0 || s.index >= len(v) {
				return nil, false
			}
			value = v[s.index]
		default:
			return nil, false
		}
	}
	return value, true
}

// maxIndex bounds the lists that Set creates.
const maxIndex = 1000

// Set sets a field, and creates the maps and lists on the way.
func Set(object map[string]any, path Path, value any) error {
	_, err := set(object, path, value)
	return err
}

func set(at any, path Path, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	s := path[0]
	if s.index < 0 {
		m, ok := at.(map[string]any)
		if at == nil {
			m, ok = map[string]any{}, true
		}
		if !ok {
			return nil, fmt.Errorf("field %s is in a %T, which is not an object", s.key, at)
		}
		inner, err := set(m[s.key], path[1:], value)
		if err != nil {
			return nil, err
		}
		m[s.key] = inner
		return m, nil
	}
	l, ok := at.([]any)
	if at != nil && !ok || s.index > maxIndex {
		return nil, fmt.Errorf("index %d is not in a list", s.index)
	}
	for len(l) <= s.index {
		l = append(l, nil)
	}
	inner, err := set(l[s.index], path[1:], value)
	if err != nil {
		return nil, err
	}
	l[s.index] = inner
	return l, nil
}
