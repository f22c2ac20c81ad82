package osm

import (
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// addRetries adds the rule for Retry objects, which have no effect yet.
func (r *rules) addRetries(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "Retry")
	incremental.Each(rule, store.Of[*policy.Retry](objects), new(r.readsPolicies(rule)),
		func(r *policyRule, _ types.NamespacedName, all []*policy.Retry) {
			if at, _, is := r.member(policy.GroupVersion.Group, "Retry", all[0]); is {
				r.report(at, "spec.retryPolicy", model.CodeFieldNotImplemented, "has no effect: requests are not retried")
			}
		})
}
