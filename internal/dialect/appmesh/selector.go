package appmesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"anymesh.dev/anymesh/model"
)

// selects tells whether a selector matches labels: an absent one nothing, an empty one all. A selector that is not
// well-formed matches nothing; Translate says so.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}

// compile gives a selector ready for use, and findings when it is not well-formed. The error of compiling names
// whatever fault it meets first in a map, so it is not fit for a finding.
func (t *translator) compile(selector *metav1.LabelSelector, at model.Origin) labels.Selector {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil {
		return compiled
	}
	faults := validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{},
		field.NewPath(at.Path))
	for _, f := range faults {
		t.report(at.At(f.Field), model.CodeInvalidField, "%s; the selector matches nothing", f.ErrorBody())
	}
	if len(faults) == 0 {
		t.report(at, model.CodeInvalidField, "not a label selector; it matches nothing")
	}
	return labels.Nothing()
}
