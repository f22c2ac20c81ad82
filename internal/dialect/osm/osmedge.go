package osm

import (
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

const accessControlPath = "spec.featureFlags.enableAccessControlPolicy"

// accessControlRule validates AccessControls, which osm-edge reads only while a feature flag is on.
type accessControlRule struct {
	ingressRule
	settings *incremental.Reader[allKey, meshSettings]
}

func (r *accessControlRule) evaluate(_ types.NamespacedName, all []*policy.AccessControl) {
	o := all[0]
	settings, _ := r.settings.ReadFirst(allKey{})
	if settings.accessControl {
		r.ingressRule.evaluate(kindAccessControl, o, o.Spec)
	} else if at, _, is := r.member(policy.GroupVersion.Group, kindAccessControl, o); is {
		r.report(at, "", model.CodeNoEffect, "has no effect while %s of MeshConfig is not true", accessControlPath)
	}
}
