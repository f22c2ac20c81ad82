package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/fleet"
)

// registered is a kind that a registry selects, with what discovery says of it.
type registered struct {
	kind     cache.Kind
	resource metav1.APIResource
	// subresources are the names after the slash.
	subresources []metav1.APIResource
	// printer is that of a custom resource; nil for other kinds.
	printer *printer
}

// selected has the kinds of all registries, and the problems of each.
type selected struct {
	kinds    map[schema.GroupVersionResource]*registered
	problems map[string][]string
	// lacking are the clusters of each registry that do not offer a kind of it.
	lacking map[string][]string
	// of has the kinds of each registry.
	of map[string]map[schema.GroupVersionResource]bool
	// unresolved are kinds of clusters of which none was reached yet. Their resource names are guessed.
	unresolved map[schema.GroupVersionResource]bool
}

// groupVersions returns the groups and versions that registries name.
func groupVersions(registries []searchv1.ResourceRegistry) []string {
	names := map[string]bool{}
	for _, r := range registries {
		for _, s := range r.Spec.ResourceSelectors {
			if _, err := schema.ParseGroupVersion(s.APIVersion); err == nil && s.APIVersion != "" {
				names[s.APIVersion] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// kindLists are kinds by group and version.
type kindLists = map[string]*metav1.APIResourceList

// selectKinds merges registries: the clusters and namespaces of a kind are the union of all selectors. Each cluster has
// its own namespaces. The known kinds are those of clusters that were not reached.
func selectKinds(registries []searchv1.ResourceRegistry, members []fleet.Member, known kindLists) selected {
	out := selected{
		map[schema.GroupVersionResource]*registered{}, map[string][]string{}, map[string][]string{},
		map[string]map[schema.GroupVersionResource]bool{}, map[schema.GroupVersionResource]bool{},
	}
	for _, r := range registries {
		out.of[r.Name] = map[schema.GroupVersionResource]bool{}
		complain := func(format string, args ...any) {
			out.problems[r.Name] = append(out.problems[r.Name], fmt.Sprintf(format, args...))
		}
		matches, err := affinity(r.Spec.TargetCluster)
		if err != nil {
			complain("spec.targetCluster: %v", err)
			continue
		}
		for i, s := range r.Spec.ResourceSelectors {
			found, matched, unreached := 0, 0, false
			var lacking []string
			for _, m := range members {
				if !matches(m) {
					continue
				}
				matched++
				list := m.Resources[s.APIVersion]
				if m.Resources == nil {
					list, unreached = known[s.APIVersion], true
				}
				if gvr, ok := out.add(s, m.Name, list); ok {
					out.of[r.Name][gvr] = true
					found++
				} else {
					lacking = append(lacking, m.Name)
				}
			}
			if found > 0 && len(lacking) > 0 {
				out.lacking[r.Name] = append(out.lacking[r.Name], fmt.Sprintf("%s of %s is not offered by the clusters %s",
					s.Kind, s.APIVersion, strings.Join(lacking, ", ")))
			}
			if found == 0 {
				out.addEmpty(s, known[s.APIVersion], unreached || matched == 0)
				complain("spec.resourceSelectors[%d]: no selected cluster that was reached offers kind %s of %s with the verbs list and watch",
					i, s.Kind, s.APIVersion)
			}
		}
	}
	return out
}

// add adds the kind of a selector in a cluster, whose kinds of the group and version are in the list.
func (s selected) add(
	selector searchv1.ResourceSelector, cluster string, list *metav1.APIResourceList,
) (schema.GroupVersionResource, bool) {
	gv, err := schema.ParseGroupVersion(selector.APIVersion)
	if err != nil || list == nil {
		return schema.GroupVersionResource{}, false
	}
	i := indexOf(selector.Kind, list)
	if i < 0 {
		return schema.GroupVersionResource{}, false
	}
	resource := list.APIResources[i]
	gvr := gv.WithResource(resource.Name)
	k, ok := s.kinds[gvr]
	if !ok {
		k = &registered{resource: resource, kind: cache.Kind{
			Resource: gvr, Kind: resource.Kind, ListKind: resource.Kind + "List", Namespaced: resource.Namespaced,
		}}
		for _, r := range list.APIResources {
			if strings.HasPrefix(r.Name, resource.Name+"/") {
				k.subresources = append(k.subresources, r)
			}
		}
		s.kinds[gvr] = k
	}
	if cluster != "" {
		k.widen(cluster, selector.Namespace)
	}
	return gvr, true
}

// addEmpty adds the kind of a selector without clusters, if it is known: its lists are empty, and not those of the
// control plane. Otherwise it is unresolved, unless all clusters said that they do not offer it.
func (s selected) addEmpty(selector searchv1.ResourceSelector, list *metav1.APIResourceList, unasked bool) {
	if _, ok := s.add(selector, "", list); ok || !unasked {
		return
	}
	if gv, err := schema.ParseGroupVersion(selector.APIVersion); err == nil {
		guess, _ := meta.UnsafeGuessKindToResource(gv.WithKind(selector.Kind))
		s.unresolved[guess] = true
	}
}

// indexOf returns the index of a kind that can be cached, or -1.
func indexOf(kind string, list *metav1.APIResourceList) int {
	return slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind && !strings.Contains(r.Name, "/") &&
			slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
	})
}

// widen adds a namespace of a cluster, or all namespaces.
func (k *registered) widen(cluster, namespace string) {
	if !k.kind.Namespaced {
		namespace = ""
	}
	scopes := k.kind.Scopes
	i, ok := slices.BinarySearchFunc(scopes, cluster, func(s cache.Scope, name string) int {
		return cmp.Compare(s.Cluster, name)
	})
	switch {
	case !ok:
		scope := cache.Scope{Cluster: cluster}
		if namespace != "" {
			scope.Namespaces = []string{namespace}
		}
		k.kind.Scopes = slices.Insert(scopes, i, scope)
	case namespace == "":
		scopes[i].Namespaces = nil
	case len(scopes[i].Namespaces) > 0:
		scopes[i].Namespaces = slices.Compact(slices.Sorted(slices.Values(append(scopes[i].Namespaces, namespace))))
	}
}

// affinity returns whether a cluster is selected.
func affinity(a searchv1.ClusterAffinity) (func(fleet.Member) bool, error) {
	byLabel := labels.Everything()
	if a.LabelSelector != nil {
		var err error
		if byLabel, err = metav1.LabelSelectorAsSelector(a.LabelSelector); err != nil {
			return nil, fmt.Errorf("labelSelector: %w", err)
		}
	}
	var fields []searchv1.FieldSelectorRequirement
	if a.FieldSelector != nil {
		fields = a.FieldSelector.MatchExpressions
	}
	for i, f := range fields {
		if !slices.Contains([]string{"provider", "region", "zone"}, f.Key) || f.Operator != "In" && f.Operator != "NotIn" {
			return nil, fmt.Errorf("fieldSelector.matchExpressions[%d]: the key is provider, region or zone, and the operator In or NotIn", i)
		}
	}
	return func(m fleet.Member) bool {
		if slices.Contains(a.ExcludeClusters, m.Name) || len(a.ClusterNames) > 0 && !slices.Contains(a.ClusterNames, m.Name) {
			return false
		}
		return byLabel.Matches(labels.Set(m.Labels)) &&
			!slices.ContainsFunc(fields, func(f searchv1.FieldSelectorRequirement) bool { return !satisfies(m, f) })
	}, nil
}

func satisfies(m fleet.Member, f searchv1.FieldSelectorRequirement) bool {
	values := map[string][]string{"provider": {m.Provider}, "region": {m.Region}, "zone": m.Zones}[f.Key]
	if f.Key == "zone" && len(values) == 0 {
		values = []string{m.Zone}
	}
	in := func(v string) bool { return slices.Contains(f.Values, v) }
	if f.Operator == "In" {
		return slices.ContainsFunc(values, in)
	}
	return !slices.ContainsFunc(values, in)
}
