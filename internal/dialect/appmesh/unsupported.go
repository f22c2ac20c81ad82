package appmesh

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// unsupportedField is a field that Anymesh does not implement.
type unsupportedField struct {
	path string
	set  bool
}

// reportUnsupported reports the fields that are set.
func (t *translator) reportUnsupported(at model.Origin, fields []unsupportedField) {
	for _, f := range fields {
		if f.set {
			t.report(at.At(f.path), model.CodeFieldNotImplemented, "this field is not implemented yet and has no effect")
		}
	}
}

func unsupportedInMesh(o *api.Mesh) []unsupportedField {
	return []unsupportedField{{"spec.meshOwner", o.Spec.MeshOwner != nil}}
}

func unsupportedInNode(o *api.VirtualNode) []unsupportedField {
	return []unsupportedField{
		{"spec.backendGroups", len(o.Spec.BackendGroups) > 0},
		{"spec.logging.accessLog", o.Spec.Logging != nil && o.Spec.Logging.AccessLog != nil},
	}
}

// addUnsupportedKind adds the rule for a kind that is not implemented: each object gets a finding for its spec, and
// the findings of exceeded limits.
func addUnsupportedKind[T client.Object](r *rules, g *incremental.Graph, objects *store.Objects, kind string) {
	rule := incremental.NewRule(g, kind)
	incremental.Each(rule, store.Of[T](objects), &unsupportedRule[T]{r.memberRule(rule), kind},
		(*unsupportedRule[T]).evaluate)
}

// unsupportedRule reports the objects of a kind.
type unsupportedRule[T client.Object] struct {
	memberRule
	kind string
}

func (t *unsupportedRule[T]) evaluate(_ types.NamespacedName, all []T) {
	o := all[0]
	at := originOf(t.kind, o)
	if mesh, finding := t.meshOf(at, *meshRefField(o)); finding == nil {
		t.members.Emit(at.Object, mesh)
	}
	if isDeleting(o) {
		return
	}
	t.report(at.At("spec"), model.CodeFieldNotImplemented, "objects of kind %s are not served yet", t.kind)
	if text := nameError(t.kind, AWSName(o)); text != "" && awsNameField(o) != nil {
		t.report(at.At("spec.awsName"), model.CodeInvalidField, "%s", text)
	}
}
