package cache

import (
	"strconv"
	"strings"
	"unsafe"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// cluster is a member for one kind, from the time it joins until it leaves. A cluster that joins again is another one.
//
// identity is that of versions of objects. part is that of positions: equal positions with other namespaces are other
// states.
type cluster struct {
	name, identity, part string
}

func (c *cluster) at(v uint64) version.Component {
	return version.Component{Cluster: c.name, Identity: c.part, Version: v}
}

func (c *cluster) object(v uint64) version.Component {
	return version.Component{Cluster: c.name, Identity: c.identity, Version: v}
}

// object is a stored object. It is immutable.
//
// The text has the members of metadata except resourceVersion and managedFields, then the top-level members except
// kind, apiVersion and metadata, each after a comma, then the parts of managedFields that are not shared, and last the
// values of selectable fields and labels that are escaped in JSON.
type object struct {
	cluster *cluster
	version uint64
	// integer is the global version, if that is an integer.
	integer uint64
	// again is the integer of the first event that said again that the object exists; 0 if there is none. The mutex of
	// the kind guards it.
	again           uint64
	text            []byte
	namespace, name string
	uid             span
	// metadata, rest and managed are the ends of the parts of the text.
	metadata, rest, managed uint32
	// shared are the parts of managedFields that many objects have.
	shared []piece
	// values has the selectable fields of the kind, then keys and values of labels.
	values []span
}

// piece is shared text that follows the object's own text up to an offset.
type piece struct {
	after uint32
	blob  *blob
}

// size is the number of bytes that the object keeps in memory, without shared text.
func (o *object) size() int {
	return len(o.text) + int(unsafe.Sizeof(*o)) + 16*len(o.shared) + 8*len(o.values)
}

func (o *object) value(i int) string { return textOf(o.values[i].of(o.text)) }

func (o *object) uidText() string { return textOf(o.uid.of(o.text)) }

// textOf returns bytes that do not change as a string, without a copy.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// compare orders objects by namespace, name and cluster.
func compare(a, b *object) int {
	if n := strings.Compare(a.namespace, b.namespace); n != 0 {
		return n
	}
	if n := strings.Compare(a.name, b.name); n != 0 {
		return n
	}
	return strings.Compare(a.cluster.name, b.cluster.name)
}

func before(a, b *object) bool { return compare(a, b) < 0 }

// Object is an object of a cluster. It is immutable.
type Object struct {
	kind   *kindInfo
	object *object
	// version is that of the member, and integer the global one, if that is an integer.
	version, integer uint64
}

func (o *object) of(kind *kindInfo) Object { return Object{kind, o, o.version, o.integer} }

// Cluster returns the name of the owner.
func (o Object) Cluster() string { return o.object.cluster.name }

// Namespace returns the namespace, which is empty for cluster-scoped objects.
func (o Object) Namespace() string { return o.object.namespace }

// Name returns the name.
func (o Object) Name() string { return o.object.name }

// ResourceVersion returns the global version.
func (o Object) ResourceVersion() string { return string(o.appendVersion(nil)) }

func (o Object) appendVersion(to []byte) []byte {
	if o.integer > 0 {
		return strconv.AppendUint(to, o.integer, 10)
	}
	return version.AppendObject(to, o.object.cluster.object(o.version))
}

// MemberVersion returns the version that the owner knows.
func (o Object) MemberVersion() uint64 { return o.version }

// AppendJSON appends the object with its global version and the cluster annotation.
func (o Object) AppendJSON(to []byte) []byte {
	to = o.appendMetadata(append(to, o.kind.head...))
	return append(append(append(to, '}'), o.object.text[o.object.metadata:o.object.rest]...), '}')
}

// AppendUnmanagedJSON appends the object as AppendJSON does, without managedFields.
func (o Object) AppendUnmanagedJSON(to []byte) []byte {
	to = o.appendOwnMetadata(append(to, o.kind.head...))
	return append(append(append(to, '}'), o.object.text[o.object.metadata:o.object.rest]...), '}')
}

// partialHead begins the JSON of PartialObjectMetadata, up to the members of metadata.
const partialHead = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{`

// AppendPartialJSON appends the object as PartialObjectMetadata.
func (o Object) AppendPartialJSON(to []byte) []byte {
	return append(o.appendMetadata(append(to, partialHead...)), "}}"...)
}

// appendOwnMetadata appends the members of metadata except managedFields.
func (o Object) appendOwnMetadata(to []byte) []byte {
	to = append(to, `"resourceVersion":"`...)
	to = o.appendVersion(to)
	return append(append(to, `",`...), o.object.text[:o.object.metadata]...)
}

func (o Object) appendMetadata(to []byte) []byte {
	s := o.object
	to = o.appendOwnMetadata(to)
	if s.managed == s.rest && len(s.shared) == 0 {
		return to
	}
	to = append(to, `,"managedFields":`...)
	at := s.rest
	for _, p := range s.shared {
		to = append(append(to, s.text[at:p.after]...), p.blob.text...)
		at = p.after
	}
	return append(to, s.text[at:s.managed]...)
}

// labelView and fieldView show a stored object to selectors.
type (
	labelView struct {
		kind   *kindInfo
		object *object
	}
	fieldView labelView
)

func (v *labelView) Has(key string) bool {
	_, ok := v.Lookup(key)
	return ok
}

func (v *labelView) Get(key string) string {
	value, _ := v.Lookup(key)
	return value
}

func (v *labelView) Lookup(key string) (string, bool) {
	for i := len(v.kind.fields); i < len(v.object.values); i += 2 {
		if v.object.value(i) == key {
			return v.object.value(i + 1), true
		}
	}
	return "", false
}

func (v *fieldView) Has(field string) bool { return v.kind.supports(field) }

func (v *fieldView) Get(field string) string {
	switch field {
	case "metadata.name", "name":
		return v.object.name
	case "metadata.namespace":
		return v.object.namespace
	}
	for i, f := range v.kind.fields {
		if f.name == field {
			if value := v.object.value(i); value != "" {
				return value
			}
			return f.otherwise
		}
	}
	return ""
}
