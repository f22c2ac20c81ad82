package cache

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// selector tests objects of a kind.
type selector struct {
	Selection
	kind *kindInfo
	// name is set if the field selector requires a name.
	name string
}

// newSelector returns 400 for fields that the kind does not support, as kube-apiserver does.
func (k *kindInfo) newSelector(s Selection) (*selector, error) {
	sel := &selector{Selection: s, kind: k}
	if s.Labels != nil && s.Labels.Empty() {
		sel.Labels = nil
	}
	if s.Fields == nil {
		return sel, nil
	}
	if s.Fields.Empty() {
		sel.Fields = nil
		return sel, nil
	}
	for _, r := range s.Fields.Requirements() {
		if !k.supports(r.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	sel.name, _ = s.Fields.RequiresExactMatch("metadata.name")
	return sel, nil
}

// matches reports whether an object is selected, apart from its cluster.
func (s *selector) matches(o *object) bool {
	if s.Namespace != "" && o.namespace != s.Namespace || s.name != "" && o.name != s.name {
		return false
	}
	if s.Labels != nil && !s.Labels.Matches(&labelView{s.kind, o}) {
		return false
	}
	return s.Fields == nil || s.Fields.Matches(&fieldView{s.kind, o})
}

// all reports whether the selector selects all objects of the namespace.
func (s *selector) all() bool { return s.Labels == nil && s.Fields == nil }
