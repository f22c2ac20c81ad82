package dialect

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// KindNames are the names of kinds in an output. A kind has its group, "Kind.group", if the objects of the output have
// kinds of the same name in several groups that dialects read, or if dialects read only another one.
type KindNames struct{ shared map[string]bool }

// KindNamesOf returns the names of kinds for an output about objects.
func KindNamesOf(refs iter.Seq[model.ObjectRef]) KindNames {
	groups, read := map[string]string{}, kindGroups()
	out := KindNames{map[string]bool{}}
	for ref := range refs {
		if !read[ref.Kind][ref.Group] {
			continue
		}
		group, known := groups[ref.Kind]
		if known && group != ref.Group {
			out.shared[ref.Kind] = true
		}
		groups[ref.Kind] = ref.Group
	}
	return out
}

// KindNamesOfObjects returns the names of kinds for an output about objects.
func KindNamesOfObjects(objects []client.Object) KindNames {
	return KindNamesOf(func(yield func(model.ObjectRef) bool) {
		for _, o := range objects {
			if !yield(RefOf(o)) {
				return
			}
		}
	})
}

// KindNamesOfFindings returns the names of kinds for an output of findings.
func KindNamesOfFindings(all iter.Seq[model.Finding]) KindNames {
	return KindNamesOf(func(yield func(model.ObjectRef) bool) {
		for f := range all {
			if !yield(f.Object) {
				return
			}
		}
	})
}

// qualifies reports whether a kind has its group.
func (n KindNames) qualifies(group, kind string) bool {
	read := kindGroups()[kind]
	return n.shared[kind] || len(read) > 0 && !read[group]
}

// Kind returns "Kind", or "Kind.group".
func (n KindNames) Kind(kind schema.GroupKind) string {
	if n.qualifies(kind.Group, kind.Kind) && kind.Group != "" {
		return kind.Kind + "." + kind.Group
	}
	return kind.Kind
}

// Object returns "Kind namespace/name", or "Kind.group namespace/name".
func (n KindNames) Object(ref model.ObjectRef) string {
	if n.qualifies(ref.Group, ref.Kind) {
		return ref.Qualified()
	}
	return ref.String()
}

// Origin returns the object of an origin as Object does, and the field.
func (n KindNames) Origin(o model.Origin) string { return n.Field(o.Object(), o.Path) }

// Field returns a reference as Object does, and the path of a field, which may be empty.
func (n KindNames) Field(ref model.ObjectRef, path string) string {
	if path == "" {
		return n.Object(ref)
	}
	return n.Object(ref) + " " + path
}
