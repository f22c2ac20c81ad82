package model

import (
	"cmp"
	"encoding/json"
	"strings"
)

// ObjectRef identifies a user's object. Group is the API group without version, because kinds of two groups may have
// the same name. Namespace is empty for cluster-scoped objects, Cluster for the home cluster.
type ObjectRef struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster,omitempty"`
}

// String returns "Kind namespace/name", with "@cluster" appended for objects of another cluster. It omits the group, which
// Qualified has.
func (r ObjectRef) String() string {
	var b strings.Builder
	b.WriteString(r.Kind)
	b.WriteByte(' ')
	if r.Namespace != "" {
		b.WriteString(r.Namespace)
		b.WriteByte('/')
	}
	b.WriteString(r.Name)
	if r.Cluster != "" {
		b.WriteByte('@')
		b.WriteString(r.Cluster)
	}
	return b.String()
}

// Qualified returns the reference as String does, with the kind as "Kind.group". Kinds of the core group have no group.
func (r ObjectRef) Qualified() string {
	if r.Group != "" {
		r.Kind += "." + r.Group
	}
	return r.String()
}

// Beside returns the reference as String does, or as Qualified does if the kind of another reference has the same name
// in another group.
func (r ObjectRef) Beside(other ObjectRef) string {
	if r.Kind == other.Kind && r.Group != other.Group {
		return r.Qualified()
	}
	return r.String()
}

// Compare orders references by cluster, kind, namespace, name and group.
func (r ObjectRef) Compare(o ObjectRef) int {
	return firstNonZero(
		strings.Compare(r.Cluster, o.Cluster), strings.Compare(r.Kind, o.Kind),
		strings.Compare(r.Namespace, o.Namespace), strings.Compare(r.Name, o.Name), strings.Compare(r.Group, o.Group))
}

// Origin is the object and the field that define a model item. Content hashes ignore it, because the position of a
// route in an object does not affect sidecars. The zero value has no object. Compare origins with Equal.
type Origin struct {
	_ [0]func() // makes == invalid, which would compare addresses
	// object is shared by the items that an object defines: a service of a mesh has a dozen.
	object *ObjectRef
	// Path is a field path as the Kubernetes API server prints it: spec.routes[0].httpRoute.match.
	Path string
	// Created is the creation time of the object, in Unix seconds, the resolution of the API server; 0 if it is not
	// known. If several objects claim one name, the oldest is served. It is not part of the JSON form.
	Created int64
}

// NewOrigin returns the origin of what an object defines as a whole.
func NewOrigin(object ObjectRef) Origin { return Origin{object: &object} }

// IsZero reports whether an origin has no object, no field and no creation time.
func (o Origin) IsZero() bool { return o.Equal(Origin{}) }

// Object returns the object.
func (o Origin) Object() ObjectRef {
	if o.object == nil {
		return ObjectRef{}
	}
	return *o.object
}

// CreatedAt returns the origin with a creation time of its object, in Unix seconds.
func (o Origin) CreatedAt(seconds int64) Origin {
	o.Created = seconds
	return o
}

// Equal reports whether two origins have the same object, field and creation time.
func (o Origin) Equal(other Origin) bool {
	return (o.object == other.object || o.Object() == other.Object()) && o.Path == other.Path && o.Created == other.Created
}

// originJSON is the JSON form of an Origin.
type originJSON struct {
	Object ObjectRef `json:"object,omitzero"`
	Path   string    `json:"path,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (o Origin) MarshalJSON() ([]byte, error) { return json.Marshal(originJSON{o.Object(), o.Path}) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *Origin) UnmarshalJSON(text []byte) error {
	var from originJSON
	if err := json.Unmarshal(text, &from); err != nil {
		return err
	}
	*o = Origin{Path: from.Path}
	if from.Object != (ObjectRef{}) {
		o.object = &from.Object
	}
	return nil
}

// At returns the origin of a field of the same object.
func (o Origin) At(path string) Origin {
	o.Path = path
	return o
}

// Compare orders origins by object, then field.
func (o Origin) Compare(other Origin) int {
	return firstNonZero(o.Object().Compare(other.Object()), strings.Compare(o.Path, other.Path))
}

// CompareAge orders origins from old to young, and those of the same age by object and field. It decides which object
// is served if several claim one name.
func (o Origin) CompareAge(other Origin) int {
	return firstNonZero(cmp.Compare(o.Created, other.Created), o.Compare(other))
}

// String returns the object and the field.
func (o Origin) String() string {
	if o.Path == "" {
		return o.Object().String()
	}
	return o.Object().String() + " " + o.Path
}

func firstNonZero(values ...int) int {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}
