package appmesh

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// member is an object that belongs to a mesh, under a name that no other object of its kind has there.
type member[T client.Object] struct {
	object T
	key    model.Key
	origin model.Origin
}

// members are all objects of one kind.
type members[T client.Object] struct {
	kind string
	// served holds those that are part of the model, oldest first.
	served []*member[T]
	// byKey finds served ones by mesh and awsName, byObject by namespace and name; objects that are not served have
	// a nil entry in the latter.
	byKey    map[model.Key]*member[T]
	byObject map[types.NamespacedName]*member[T]
}

// join finds the mesh and the name of each object, and reports those that cannot be served.
func join[T client.Object](t *translator, kind string, objects []T) members[T] {
	ms := members[T]{kind: kind, byKey: map[model.Key]*member[T]{}, byObject: map[types.NamespacedName]*member[T]{}}
	for _, o := range objects {
		id := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		ms.byObject[id] = nil
		m := &member[T]{object: o, origin: originOf(kind, o)}
		mesh, ok := t.meshOf(m.origin, *meshRefField(o))
		if !ok {
			continue
		}
		m.key = model.Key{Mesh: mesh, Name: AWSName(o)}
		if fault := nameFault(kind, m.key.Name); fault != "" {
			t.report(m.origin.At("spec.awsName"), model.CodeInvalidField, "%s", fault)
			continue
		}
		if first := ms.byKey[m.key]; first != nil {
			t.nameConflict(first.origin, m.origin, m.key.Name)
			continue
		}
		ms.byKey[m.key], ms.byObject[id] = m, m
		ms.served = append(ms.served, m)
	}
	return ms
}

// nameConflict reports two objects of one name to both of them. The older one is served, so for it this is a warning.
func (t *translator) nameConflict(older, younger model.Origin, name string) {
	t.warn(older.At("spec.awsName"), model.CodeNameConflict, "%s is the name of %s too; this object is older and is served", name, younger.Object)
	t.report(younger.At("spec.awsName"), model.CodeNameConflict, "%s is the name of %s already, which is older and is served", name, older.Object)
}

// reference is a reference as a user wrote it: by namespace and name, or by resource name, which wins.
type reference struct {
	// at is the object and field that hold the reference; its two forms are the fields refField and arnField below.
	at                 model.Origin
	refField, arnField string
	arnType            string
	named              bool
	namespace, name    string
	arn                *string
}

// resolve finds what a reference of an object of some mesh means. It reports what cannot be found and gives nil.
func resolve[T client.Object](t *translator, ms *members[T], mesh string, r reference) *member[T] {
	switch {
	case r.arn != nil:
		at := r.at.At(r.at.Path + "." + r.arnField)
		name, err := parseARN(*r.arn, r.arnType)
		if err != nil {
			t.report(at, model.CodeInvalidField, "%v", err)
			return nil
		}
		m := ms.byKey[model.Key{Mesh: mesh, Name: name}]
		if m == nil {
			t.report(at, model.CodeReferenceNotFound, "no %s of mesh %s has the name %s", ms.kind, mesh, name)
		}
		return m
	case r.named:
		at := r.at.At(r.at.Path + "." + r.refField)
		id := types.NamespacedName{Namespace: r.namespace, Name: r.name}
		if id.Namespace == "" {
			id.Namespace = r.at.Object.Namespace
		}
		m, exists := ms.byObject[id]
		switch {
		case !exists:
			t.report(at, model.CodeReferenceNotFound, "%s %s does not exist", ms.kind, id)
			return nil
		case m == nil:
			t.report(at, model.CodeReferenceNotFound, "%s %s is not served; its own status says why", ms.kind, id)
			return nil
		case m.key.Mesh != mesh:
			t.report(at, model.CodeOtherMesh, "%s %s belongs to mesh %s, not to mesh %s", ms.kind, id, m.key.Mesh, mesh)
			return nil
		}
		return m
	}
	t.report(r.at, model.CodeInvalidField, "needs %s or %s", r.refField, r.arnField)
	return nil
}
