package appmesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"anymesh.dev/anymesh/model"
)

// selects reports whether a selector matches labels: an absent selector matches nothing, an empty one everything. An
// invalid selector matches nothing; Translate reports it.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
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
