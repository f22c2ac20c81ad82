package osm

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/model"
)

// ReferencesTo lists the TrafficTargets, TrafficSplits and Egress objects that name a route group.
func (Dialect) ReferencesTo(o client.Object, objects []client.Object) ([]model.Origin, bool) {
	var kind string
	switch o.(type) {
	case *specs.HTTPRouteGroup:
		kind = kindHTTPRouteGroup
	case *specs.TCPRoute:
		kind = kindTCPRoute
	default:
		return nil, false
	}
	var out []model.Origin
	for _, other := range objects {
		if other.GetNamespace() != o.GetNamespace() {
			continue
		}
		add := func(group, kindOfOther, list string, i int) {
			out = append(out, originOf(group, kindOfOther, other).At(fmt.Sprintf("spec.%s[%d].name", list, i)))
		}
		switch other := other.(type) {
		case *access.TrafficTarget:
			for i, r := range other.Spec.Rules {
				if r.Kind == kind && r.Name == o.GetName() {
					add(access.GroupVersion.Group, "TrafficTarget", "rules", i)
				}
			}
		case *split.TrafficSplit:
			for i, m := range other.Spec.Matches {
				if m.Kind == kind && m.Name == o.GetName() {
					add(split.GroupVersion.Group, "TrafficSplit", "matches", i)
				}
			}
		case *policy.Egress:
			for i, m := range other.Spec.Matches {
				if m.Kind == kind && m.Name == o.GetName() {
					add(policy.GroupVersion.Group, "Egress", "matches", i)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b model.Origin) int { return a.Object().Compare(b.Object()) })
	return out, true
}
