package appmesh

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// nameClaim is the claim of an object to a name. The oldest object of a name is served. A claim is not modified once it
// is emitted: several relations have it.
type nameClaim struct {
	key    model.Key
	origin model.Origin
	// ok is false for an object that cannot be served even without a conflict. It has findings of its own.
	ok bool
}

// SubjectRef implements store.Subject.
func (c *nameClaim) SubjectRef() model.ObjectRef { return c.origin.Object() }

func (c *nameClaim) object() types.NamespacedName {
	return types.NamespacedName{Namespace: c.origin.Object().Namespace, Name: c.origin.Object().Name}
}

// meshMember is an object that belongs to a mesh, with a name that is unique for its kind.
type meshMember[T client.Object] struct {
	*nameClaim
	object T
}

// meshMembers are the objects of one kind.
type meshMembers[T client.Object] struct {
	kind    string
	objects *incremental.Relation[types.NamespacedName, T]
	// byKey lists claims by mesh and awsName, byObject by namespace and name.
	byKey    *incremental.Relation[model.Key, *nameClaim]
	byObject *incremental.Relation[types.NamespacedName, *nameClaim]
}

func newMeshMembers[T client.Object](g *incremental.Graph, objects *store.Objects, kind string) *meshMembers[T] {
	return &meshMembers[T]{
		kind: kind, objects: store.Of[T](objects),
		byKey:    newNameClaims[model.Key](g, "claims of "+kind),
		byObject: newNameClaims[types.NamespacedName](g, "members of "+kind),
	}
}

// claimRule claims names for the objects of a kind.
type claimRule[T client.Object] struct {
	memberRule
	kind     string
	byKey    *incremental.Emitter[model.Key, *nameClaim]
	byObject *incremental.Emitter[types.NamespacedName, *nameClaim]
}

func addClaims[T client.Object](r *rules, g *incremental.Graph, ms *meshMembers[T]) {
	rule := incremental.NewRule(g, "claim of "+ms.kind)
	incremental.Each(rule, ms.objects, &claimRule[T]{
		r.memberRule(rule), ms.kind, incremental.Emits(rule, ms.byKey), incremental.Emits(rule, ms.byObject),
	}, (*claimRule[T]).evaluate)
}

func (t *claimRule[T]) evaluate(id types.NamespacedName, all []T) {
	o := all[0]
	if isDeleting(o) {
		return
	}
	c := &nameClaim{origin: originOf(t.kind, o)}
	if c.key.Mesh, c.ok = t.memberOf(c.origin, *meshRefField(o)); c.ok {
		c.key.Name = AWSName(o)
		if text := nameError(t.kind, c.key.Name); text != "" {
			t.report(c.origin.At("spec.awsName"), model.CodeInvalidField, "%s", text)
			c.ok = false
		} else if finding := t.reserved(c); finding != nil {
			t.findings.Emit(*finding)
			c.ok = false
		}
	}
	if c.ok {
		t.byKey.Emit(c.key, c)
	}
	t.byObject.Emit(id, c)
}

// reserved returns the finding of a VirtualService whose name its mesh binds to other namespaces, or nil.
func (t *claimRule[T]) reserved(c *nameClaim) *model.Finding {
	if t.kind != api.KindVirtualService {
		return nil
	}
	for _, m := range t.meshes.Read(allKey{}) {
		if m.notServed == "" && m.awsName == c.key.Mesh {
			return m.reserved(c.origin.At("spec.awsName"), c.key.Name)
		}
	}
	return nil
}

// servedRule calls f for each object that is served. Other objects with the same name get a finding.
type servedRule[A any, T client.Object] struct {
	translator
	objects *incremental.Reader[types.NamespacedName, T]
	access  A
	f       func(A, *meshMember[T])
}

// eachServed completes a rule: f is evaluated for each object that is served.
func eachServed[A any, T client.Object](r *rules, rule *incremental.Rule, ms *meshMembers[T], access A,
	f func(A, *meshMember[T])) {
	incremental.Each(rule, ms.byKey, &servedRule[A, T]{
		r.translator(rule), incremental.Reads(rule, ms.objects), access, f,
	}, (*servedRule[A, T]).evaluate)
}

func (t *servedRule[A, T]) evaluate(_ model.Key, all []*nameClaim) {
	for _, younger := range all[1:] {
		t.nameConflict(all[0].origin, younger.origin, all[0].key.Name)
	}
	if o, ok := t.objects.ReadFirst(all[0].object()); ok {
		t.f(t.access, &meshMember[T]{all[0], o})
	}
}

// nameConflict reports a name conflict for both objects. The older one is served, so that its finding is a warning.
func (t *translator) nameConflict(older, younger model.Origin, name string) {
	t.warn(older.At("spec.awsName"), model.CodeNameConflict,
		"%s also has the awsName %s; this object is older and is served", younger.Object(), name)
	t.report(younger.At("spec.awsName"), model.CodeNameConflict,
		"%s also has the awsName %s; that object is older and is served", older.Object(), name)
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

// resolver is the part of a rule that resolves references to the objects of a kind.
type resolver struct {
	kind     string
	byKey    *incremental.Reader[model.Key, *nameClaim]
	byObject *incremental.Reader[types.NamespacedName, *nameClaim]
}

func (ms *meshMembers[T]) resolver(rule *incremental.Rule) resolver {
	return resolver{ms.kind, incremental.Reads(rule, ms.byKey), incremental.Reads(rule, ms.byObject)}
}

// fault is an error in a field of an object.
type fault struct {
	path string
	code model.Code
	// severity is that of the code if it is empty.
	severity model.Severity
	text     string
}

// reportFault reports a fault of an object.
func (t *translator) reportFault(object model.Origin, f fault) {
	finding := model.NewFinding(object.At(f.path), f.code, f.text)
	if f.severity != "" {
		finding.Severity = f.severity
	}
	t.findings.Emit(finding)
}

// resolve returns the target of a reference of an object in a mesh. If there is none, it reports a finding and
// returns nil and false.
func (t *translator) resolve(to *resolver, mesh string, r reference) (*nameClaim, bool) {
	c, f := to.find(mesh, r)
	if f != nil {
		t.report(r.at.At(f.path), f.code, "%s", f.text)
	}
	return c, f == nil
}

// find returns the target of a reference, or nil and an error at its field.
func (to *resolver) find(mesh string, r reference) (*nameClaim, *fault) {
	switch {
	case r.arn != nil:
		name, err := parseARN(*r.arn, r.arnType)
		if err != nil {
			return nil, r.fault(r.arnField, model.CodeInvalidField, "%v", err)
		}
		c, found := to.byKey.ReadFirst(model.Key{Mesh: mesh, Name: name})
		if !found {
			return nil, r.fault(r.arnField, model.CodeReferenceNotFound, "no %s of mesh %s has the name %s",
				to.kind, mesh, name)
		}
		return c, nil
	case r.hasName:
		id := types.NamespacedName{Namespace: cmp.Or(r.namespace, r.at.Object().Namespace), Name: r.name}
		c, exists := to.byObject.ReadFirst(id)
		switch {
		case !exists:
			return nil, r.fault(r.refField, model.CodeReferenceNotFound, "%s %s does not exist", to.kind, id)
		case !to.serves(c):
			return nil, r.fault(r.refField, model.CodeReferenceNotFound, "%s %s is not served; see its status",
				to.kind, id)
		case c.key.Mesh != mesh:
			return nil, r.fault(r.refField, model.CodeOtherMesh, "%s %s belongs to mesh %s, not to mesh %s",
				to.kind, id, c.key.Mesh, mesh)
		}
		return c, nil
	}
	text := fmt.Sprintf("%s or %s is required", r.refField, r.arnField)
	return nil, &fault{path: r.at.Path, code: model.CodeInvalidField, text: text}
}

func (r *reference) fault(field string, code model.Code, format string, args ...any) *fault {
	return &fault{path: r.at.Path + "." + field, code: code, text: fmt.Sprintf(format, args...)}
}

// serves reports whether an object is served with the name that it claims.
func (to *resolver) serves(c *nameClaim) bool {
	if !c.ok {
		return false
	}
	oldest, _ := to.byKey.ReadFirst(c.key)
	return oldest.object() == c.object()
}
