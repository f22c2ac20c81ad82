package metadata

import (
	"fmt"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Path is a path into a document, by the names of fields. The empty path is the whole document.
type Path []string

// ParsePath returns the path of a JSON pointer. Slashes at both ends are optional, there are no escapes, as in the
// original dialect.
func ParsePath(pointer string) Path {
	pointer = strings.Trim(pointer, "/")
	if pointer == "" {
		return nil
	}
	return strings.Split(pointer, "/")
}

// String returns the path as JSON pointer.
func (p Path) String() string { return "/" + strings.Join(p, "/") }

// Document is the metadata of a session.
type Document interface {
	// Lookup returns the value at a path.
	Lookup(p Path) Value
	// Tree returns the document as a value of its own, which may be changed.
	Tree() Tree
}

// Tree is a document that is a value of JSON, usually a map[string]any.
type Tree struct{ Root any }

// Lookup implements Document.
func (t Tree) Lookup(p Path) Value { return At(t.Root, p) }

// Tree implements Document.
func (t Tree) Tree() Tree { return Tree{config.Copy(t.Root)} }

// At returns the value at a path below v.
func At(v any, p Path) Value {
	for _, name := range p {
		switch in := v.(type) {
		case map[string]any:
			inner, has := in[name]
			if !has {
				return Value{}
			}
			v = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return Value{}
			}
			v = in[i]
		default:
			return Value{}
		}
	}
	return Of(v)
}

// Set sets the value at a path, and creates objects on the way. It is an error to set a value below one that is no
// object. The document keeps a copy of v.
func (t *Tree) Set(p Path, v any) error {
	v = config.Copy(v)
	if len(p) == 0 {
		t.Root = v
		return nil
	}
	if t.Root == nil {
		t.Root = map[string]any{}
	}
	in := t.Root
	for i, name := range p[:len(p)-1] {
		next := At(in, p[i:i+1])
		if next.Kind == Undefined {
			if err := setOne(in, name, map[string]any{}); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			next = At(in, p[i:i+1])
		}
		if next.Kind != Other {
			return fmt.Errorf("%s: %s is no object", p, p[:i+1])
		}
		in = next.Any
	}
	if err := setOne(in, p[len(p)-1], v); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return nil
}

// setOne sets a field of an object, or an existing element of a list.
func setOne(in any, name string, v any) error {
	switch in := in.(type) {
	case map[string]any:
		in[name] = v
		return nil
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(in) {
			in[i] = v
			return nil
		}
		return fmt.Errorf("the list has no element %s", name)
	}
	return fmt.Errorf("the parent of %s is no object", name)
}
