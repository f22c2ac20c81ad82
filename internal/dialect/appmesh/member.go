package appmesh

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// claim is the wish of an object to be served under a name. The oldest one of a name is served.
type claim struct {
	age
	key    model.Key
	origin model.Origin
	// ok is false for an object that cannot be served whatever others want; its own findings say why.
	ok bool
}

func (c claim) object() types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace, Name: c.name}
}

// member is an object that belongs to a mesh, under a name that no other object of its kind has there.
type member[T client.Object] struct {
	claim
	object T
}

// members are all objects of one kind.
type members[T client.Object] struct {
	kind    string
	objects *incremental.Relation[types.NamespacedName, T]
	// byKey lists claims by mesh and awsName, byObject by namespace and name.
	byKey    *incremental.Relation[model.Key, claim]
	byObject *incremental.Relation[types.NamespacedName, claim]
}

// newMembers adds the rule by which each object of a kind claims a name in its mesh.
func newMembers[T client.Object](r *rules, g *incremental.Graph, objects *store.Objects, kind string) *members[T] {
	ms := &members[T]{
		kind: kind, objects: store.Of[T](objects),
		byKey: claims[model.Key](g, "claims of "+kind), byObject: claims[types.NamespacedName](g, "members of "+kind),
	}
	incremental.AddRule(g, "claim of "+kind, ms.objects, func(task *incremental.Evaluation, id types.NamespacedName, all []T) {
		t, o := &translator{task, r}, all[0]
		if leaving(o) {
			return
		}
		c := claim{age: ageOf(o), origin: originOf(kind, o)}
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

func claims[K comparable](g *incremental.Graph, name string) *incremental.Relation[K, claim] {
	return incremental.NewRelation[K](g, name, func(a, b claim) int { return a.compare(b.age) }, func(a, b claim) bool { return reflect.DeepEqual(a, b) })
}

// each adds a rule that is evaluated for each object that is served. Objects that are not hear why.
func (ms *members[T]) each(r *rules, g *incremental.Graph, f func(*translator, *member[T])) {
	incremental.AddRule(g, ms.kind, ms.byKey, func(task *incremental.Evaluation, _ model.Key, all []claim) {
		t := &translator{task, r}
		for _, younger := range all[1:] {
			t.nameConflict(all[0].origin, younger.origin, all[0].key.Name)
		}
		if o, ok := ms.objects.ReadFirst(task, all[0].object()); ok {
			f(t, &member[T]{all[0], o})
		}
	})
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

// resolve finds what a reference of an object of some mesh means. It reports what cannot be found, and false.
func resolve[T client.Object](t *translator, ms *members[T], mesh string, r reference) (claim, bool) {
	switch {
	case r.arn != nil:
		at := r.at.At(r.at.Path + "." + r.arnField)
		name, err := parseARN(*r.arn, r.arnType)
		if err != nil {
			t.report(at, model.CodeInvalidField, "%v", err)
			return claim{}, false
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
			return claim{}, false
		case !ms.serves(t, c):
			t.report(at, model.CodeReferenceNotFound, "%s %s is not served; its own status says why", ms.kind, id)
			return claim{}, false
		case c.key.Mesh != mesh:
			t.report(at, model.CodeOtherMesh, "%s %s belongs to mesh %s, not to mesh %s", ms.kind, id, c.key.Mesh, mesh)
			return claim{}, false
		}
		return c, true
	}
	t.report(r.at, model.CodeInvalidField, "needs %s or %s", r.refField, r.arnField)
	return claim{}, false
}

// serves tells whether an object is served under the name that it claims.
func (ms *members[T]) serves(t *translator, c claim) bool {
	if !c.ok {
		return false
	}
	oldest, _ := ms.byKey.ReadFirst(t.Evaluation, c.key)
	return oldest.object() == c.object()
}
