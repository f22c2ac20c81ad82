package appmesh

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// nameClaim is the wish of an object to be served under a name. The oldest one of a name is served.
type nameClaim struct {
	precedence
	key    model.Key
	origin model.Origin
	// ok is false for an object that cannot be served whatever others want; its own findings say why.
	ok bool
}

func (c nameClaim) object() types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace, Name: c.name}
}

// meshMember is an object that belongs to a mesh, under a name that no other object of its kind has there.
type meshMember[T client.Object] struct {
	nameClaim
	object T
}

// meshMembers are all objects of one kind.
type meshMembers[T client.Object] struct {
	kind    string
	objects *incremental.Relation[types.NamespacedName, T]
	// byKey lists claims by mesh and awsName, byObject by namespace and name.
	byKey    *incremental.Relation[model.Key, nameClaim]
	byObject *incremental.Relation[types.NamespacedName, nameClaim]
}

// newMeshMembers adds the rule by which each object of a kind claims a name in its mesh.
func newMeshMembers[T client.Object](r *rules, g *incremental.Graph, objects *store.Objects,
	kind string) *meshMembers[T] {
	ms := &meshMembers[T]{
		kind: kind, objects: store.Of[T](objects),
		byKey:    newNameClaims[model.Key](g, "claims of "+kind),
		byObject: newNameClaims[types.NamespacedName](g, "members of "+kind),
	}
	incremental.AddRule(g, "claim of "+kind, ms.objects,
		func(task *incremental.Evaluation, id types.NamespacedName, all []T) {
			t, o := &translator{task, r}, all[0]
			if isDeleting(o) {
				return
			}
			c := nameClaim{precedence: precedenceOf(o), origin: originOf(kind, o)}
			if c.key.Mesh, c.ok = t.memberOf(c.origin, *meshRefField(o)); c.ok {
				c.key.Name = AWSName(o)
				if fault := nameFault(kind, c.key.Name); fault != "" {
					t.report(c.origin.At("spec.awsName"), model.CodeInvalidField, "%s", fault)
					c.ok = false
				}
			}
			if c.ok {
				ms.byKey.Emit(task, c.key, c)
			}
			ms.byObject.Emit(task, id, c)
		})
	return ms
}

func newNameClaims[K comparable](g *incremental.Graph, name string) *incremental.Relation[K, nameClaim] {
	return incremental.NewRelation[K](g, name, func(a, b nameClaim) int { return a.compare(b.precedence) },
		func(a, b nameClaim) bool { return reflect.DeepEqual(a, b) })
}

// each adds a rule that is evaluated for each object that is served. Objects that are not hear why.
func (ms *meshMembers[T]) each(r *rules, g *incremental.Graph, f func(*translator, *meshMember[T])) {
	incremental.AddRule(g, ms.kind, ms.byKey, func(task *incremental.Evaluation, _ model.Key, all []nameClaim) {
		t := &translator{task, r}
		for _, younger := range all[1:] {
			t.nameConflict(all[0].origin, younger.origin, all[0].key.Name)
		}
		if o, ok := ms.objects.ReadFirst(task, all[0].object()); ok {
			f(t, &meshMember[T]{all[0], o})
		}
	})
}

// nameConflict reports two objects of one name to both of them. The older one is served, so for it this is a warning.
func (t *translator) nameConflict(older, younger model.Origin, name string) {
	t.warn(older.At("spec.awsName"), model.CodeNameConflict,
		"%s is the name of %s too; this object is older and is served", name, younger.Object)
	t.report(younger.At("spec.awsName"), model.CodeNameConflict,
		"%s is the name of %s already, which is older and is served", name, older.Object)
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

// resolve finds what a reference of an object of some mesh means. It reports what cannot be found, and false.
func resolve[T client.Object](t *translator, ms *meshMembers[T], mesh string, r reference) (nameClaim, bool) {
	switch {
	case r.arn != nil:
		at := r.at.At(r.at.Path + "." + r.arnField)
		name, err := parseARN(*r.arn, r.arnType)
		if err != nil {
			t.report(at, model.CodeInvalidField, "%v", err)
			return nameClaim{}, false
		}
		c, found := ms.byKey.ReadFirst(t.Evaluation, model.Key{Mesh: mesh, Name: name})
		if !found {
			t.report(at, model.CodeReferenceNotFound, "no %s of mesh %s has the name %s", ms.kind, mesh, name)
		}
		return c, found
	case r.named:
		at := r.at.At(r.at.Path + "." + r.refField)
		id := types.NamespacedName{Namespace: r.namespace, Name: r.name}
		if id.Namespace == "" {
			id.Namespace = r.at.Object.Namespace
		}
		c, exists := ms.byObject.ReadFirst(t.Evaluation, id)
		switch {
		case !exists:
			t.report(at, model.CodeReferenceNotFound, "%s %s does not exist", ms.kind, id)
			return nameClaim{}, false
		case !ms.serves(t, c):
			t.report(at, model.CodeReferenceNotFound, "%s %s is not served; its own status says why", ms.kind, id)
			return nameClaim{}, false
		case c.key.Mesh != mesh:
			t.report(at, model.CodeOtherMesh, "%s %s belongs to mesh %s, not to mesh %s", ms.kind, id, c.key.Mesh, mesh)
			return nameClaim{}, false
		}
		return c, true
	}
	t.report(r.at, model.CodeInvalidField, "needs %s or %s", r.refField, r.arnField)
	return nameClaim{}, false
}

// serves tells whether an object is served under the name that it claims.
func (ms *meshMembers[T]) serves(t *translator, c nameClaim) bool {
	if !c.ok {
		return false
	}
	oldest, _ := ms.byKey.ReadFirst(t.Evaluation, c.key)
	return oldest.object() == c.object()
}
