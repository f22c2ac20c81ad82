package appmesh

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/model"
)

// selects tells whether a selector matches labels: an absent one nothing, an empty one all. A selector that is not
// well-formed matches nothing; Translate says so.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}

// compile gives a selector ready for use, and a finding when it is not well-formed.
func (t *translator) compile(selector *metav1.LabelSelector, at model.Origin) labels.Selector {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.report(at, model.CodeInvalidField, "the selector matches nothing: %v", err)
		return labels.Nothing()
	}
	return compiled
}
