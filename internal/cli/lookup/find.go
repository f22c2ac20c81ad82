package lookup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// AmbiguousError says that several items have a name, and by which names each is found.
type AmbiguousError struct {
	Name       string
	Candidates []string
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is ambiguous; use one of %s", e.Name, some(e.Candidates))
}

// IsAmbiguous reports whether an error says that several items have a name.
func IsAmbiguous(err error) bool { return errors.As(err, new(*AmbiguousError)) }

// Ambiguous returns the error for objects that have the same name.
func Ambiguous(name string, objects []model.ObjectRef) error {
	return &AmbiguousError{name, candidates(objects, nil)}
}

// item has the names of a mesh item: its key, its object, and others.
type item struct {
	key    model.Key
	object model.ObjectRef
	names  []string
	// listed is the name in errors.
	listed string
}

// find returns the index of the only item with a name: its key, its object as KIND.GROUP/NAME or
// KIND.GROUP/NAMESPACE/NAME, NAMESPACE/NAME or NAME, or another of its names. namespace has precedence for names
// without one. noun is used in errors.
func find(all []item, noun, name, namespace string) (int, error) {
	qualified := parse(name)
	for _, matches := range []func(item) bool{
		func(i item) bool {
			return i.key.String() == name || strings.Contains(name, "/") && slices.Contains(i.names, name)
		},
		func(i item) bool { return qualified.group != "" && qualified.matches(i.object, namespace) },
		func(i item) bool { return objectName(i.object) == name },
		func(i item) bool { return i.object.Namespace == namespace && i.object.Name == name },
		func(i item) bool { return i.key.Name == name || slices.Contains(i.names, name) },
		func(i item) bool { return i.object.Name == name },
		func(i item) bool { return qualified.group == "" && qualified.matches(i.object, namespace) },
	} {
		var found []int
		for i, item := range all {
			if matches(item) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			var objects []model.ObjectRef
			var keys []model.Key
			for _, i := range found {
				objects, keys = append(objects, all[i].object), append(keys, all[i].key)
			}
			return 0, &AmbiguousError{name, candidates(objects, keys)}
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("%s %q not found; the mesh has no %ss", noun, name, noun)
	}
	var names []string
	for _, i := range all {
		names = append(names, i.listed)
	}
	return 0, fmt.Errorf("%s %q not found; %ss are %s", noun, name, noun, some(names))
}

// candidates are names of objects that differ: NAMESPACE/NAME, else KIND.GROUP/NAMESPACE/NAME, else the keys.
func candidates(objects []model.ObjectRef, keys []model.Key) []string {
	for _, nameOf := range []func(model.ObjectRef) string{objectName, qualifiedName} {
		var out []string
		for _, o := range objects {
			if name := nameOf(o); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		if len(out) == len(objects) {
			return out
		}
	}
	var out []string
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// maxListed is the maximum number of names in an error.
const maxListed = 12

func some(names []string) string {
	if len(names) > maxListed {
		names = append(slices.Clone(names[:maxListed]), "...")
	}
	return strings.Join(names, ", ")
}

func objectName(o model.ObjectRef) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

func qualifiedName(o model.ObjectRef) string {
	kind := strings.ToLower(o.Kind)
	if o.Group != "" {
		kind += "." + o.Group
	}
	return kind + "/" + objectName(o)
}

// object is the name KIND/NAME of an object. Kind and group are lower-case; group, version and namespace may be empty.
type object struct{ kind, group, namespace, name string }

// parse parses KIND/NAME and KIND/NAMESPACE/NAME, whose KIND may be KIND.GROUP. It returns no kind for another name.
func parse(text string) object {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return object{}
	}
	out := object{name: parts[len(parts)-1]}
	if len(parts) == 3 {
		out.namespace = parts[1]
	}
	out.kind, out.group, _ = strings.Cut(strings.ToLower(parts[0]), ".")
	return out
}

// matches reports whether an object has the name. namespace is that of names without one; if it is empty, too, any is.
func (o object) matches(ref model.ObjectRef, namespace string) bool {
	if o.namespace != "" {
		namespace = o.namespace
	}
	return o.kind == strings.ToLower(ref.Kind) && (o.group == "" || o.group == ref.Group) && o.name == ref.Name &&
		(namespace == "" || ref.Namespace == "" || ref.Namespace == namespace)
}

// HasName reports whether an object has a name KIND/NAME or KIND/NAMESPACE/NAME, whose KIND may be KIND.GROUP.
func HasName(ref model.ObjectRef, name string) bool { return parse(name).matches(ref, "") }
