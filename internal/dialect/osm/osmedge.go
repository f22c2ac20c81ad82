package osm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
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

// addWithoutEffect adds the rules for kinds of osm-edge that have no effect.
func (r *rules) addWithoutEffect(g *incremental.Graph, objects *store.Objects) {
	withoutEffect(r, g, store.Of[*policy.EgressGateway](objects), "EgressGateway",
		"connections to destinations outside of the mesh go from the sidecar of the client, through no gateway")
	withoutEffect(r, g, store.Of[*policy.AccessCert](objects), "AccessCert",
		"clients outside of the mesh get no certificates of it; an IngressBackend names those that they have")
}

// withoutEffect adds a rule that reports each object of a kind as an error.
func withoutEffect[T metav1.Object](r *rules, g *incremental.Graph, all *incremental.Relation[types.NamespacedName, T],
	kind, text string) {
	rule := incremental.NewRule(g, kind)
	access := r.readsPolicies(rule)
	incremental.Each(rule, all, &access, func(r *policyRule, _ types.NamespacedName, all []T) {
		at, _, is := r.member(policy.GroupVersion.Group, kind, all[0])
		if !is {
			return
		}
		f := model.NewFinding(at, model.CodeFieldNotImplemented, "has no effect: "+text)
		f.Severity = model.Error
		r.findings.Emit(f)
	})
}
