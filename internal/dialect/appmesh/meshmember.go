package appmesh

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// nameClaim is the claim of an object to a name. The oldest object of a name is served.
type nameClaim struct {
	precedence
	key    model.Key
	origin model.Origin
	// ok is false for an object that cannot be served even without a conflict. It has findings of its own.
	ok bool
}

func (c nameClaim) object() types.NamespacedName {
	return types.NamespacedName{Namespace: c.namespace, Name: c.name}
}

// meshMember is an object that belongs to a mesh, with a name that is unique for its kind.
type meshMember[T client.Object] struct {
	nameClaim
	object T
}

// meshMembers are the objects of one kind.
type meshMembers[T client.Object] struct {
	kind    string
	objects *incremental.Relation[types.NamespacedName, T]
	// byKey lists claims by mesh and awsName, byObject by namespace and name.
	byKey    *incremental.Relation[model.Key, nameClaim]
	byObject *incremental.Relation[types.NamespacedName, nameClaim]
}

// newMeshMembers adds the rule that claims names for the objects of a kind.
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
				if text := nameError(kind, c.key.Name); text != "" {
					t.report(c.origin.At("spec.awsName"), model.CodeInvalidField, "%s", text)
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

// each adds a rule that is evaluated for each object that is served. Other objects with the same name get a finding.
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

// nameConflict reports a name conflict for both objects. The older one is served, so that its finding is a warning.
func (t *translator) nameConflict(older, younger model.Origin, name string) {
	t.warn(older.At("spec.awsName"), model.CodeNameConflict,
		"%s also has the awsName %s; this object is older and is served", younger.Object, name)
	t.report(younger.At("spec.awsName"), model.CodeNameConflict,
		"%s also has the awsName %s; that object is older and is served", older.Object, name)
}

// reference is a reference in a manifest: by namespace and name, or by ARN, which takes precedence.
type reference struct {
	// at is the object and the field with the reference. refField and arnField are the names of its two forms.
	at                 model.Origin
	refField, arnField string
	arnType            string
	hasName            bool
	namespace, name    string
	arn                *string
}

// resolve returns the target of a reference of an object in a mesh. If there is none, it reports a finding and
// returns false.
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
	case r.hasName:
		id := types.NamespacedName{Namespace: r.namespace, Name: r.name}
		if id.Namespace == "" {
			id.Namespace = r.at.Object.Namespace
		}
		c, exists := ms.byObject.ReadFirst(t.Evaluation, id)
		switch {
		case !exists:
			t.report(r.at.At(r.at.Path+"."+r.refField), model.CodeReferenceNotFound, "%s %s does not exist", ms.kind, id)
			return nameClaim{}, false
		case !ms.serves(t, c):
			t.report(r.at.At(r.at.Path+"."+r.refField), model.CodeReferenceNotFound, "%s %s is not served; see its status", ms.kind, id)
			return nameClaim{}, false
		case c.key.Mesh != mesh:
			t.report(r.at.At(r.at.Path+"."+r.refField), model.CodeOtherMesh, "%s %s belongs to mesh %s, not to mesh %s", ms.kind, id, c.key.Mesh, mesh)
			return nameClaim{}, false
		}
		return c, true
	}
	t.report(r.at, model.CodeInvalidField, "%s or %s is required", r.refField, r.arnField)
	return nameClaim{}, false
}

// serves reports whether an object is served with the name that it claims.
func (ms *meshMembers[T]) serves(t *translator, c nameClaim) bool {
	if !c.ok {
		return false
	}
	oldest, _ := ms.byKey.ReadFirst(t.Evaluation, c.key)
	return oldest.object() == c.object()
}
