package appmesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// selects reports whether a selector matches labels: an absent selector matches nothing, an empty one everything. An
// invalid selector matches nothing; Translate reports it.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}

// PodSelector returns the selector of a VirtualNode or VirtualGateway, and its path.
func (Dialect) PodSelector(object client.Object) (selector *metav1.LabelSelector, path string) {
	switch o := object.(type) {
	case *api.VirtualNode:
		selector = o.Spec.PodSelector
	case *api.VirtualGateway:
		selector = o.Spec.PodSelector
	}
	return selector, "spec.podSelector"
}

// compile parses a selector, and reports invalid ones. It does not use the error of the parser, which depends on the
// iteration order of a map.
func (t *translator) compile(selector *metav1.LabelSelector, at model.Origin) labels.Selector {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil {
		return compiled
	}
	errs := validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{},
		field.NewPath(at.Path))
	for _, f := range errs {
		t.report(at.At(f.Field), model.CodeInvalidField, "%s; the selector matches nothing", f.ErrorBody())
	}
	if len(errs) == 0 {
		t.report(at, model.CodeInvalidField, "not a label selector; it matches nothing")
	}
	return labels.Nothing()
}
