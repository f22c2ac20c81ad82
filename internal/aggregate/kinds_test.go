package aggregate

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/fleet"
)

var verbs = metav1.Verbs{"get", "list", "watch"}

func cluster(name, region string, zones ...string) fleet.Member {
	return fleet.Member{
		Name: name, Region: region, Zones: zones, Labels: map[string]string{"region": region},
		Resources: map[string]*metav1.APIResourceList{"v1": {APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs},
			{Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
			{Name: "nodes", Kind: "Node", Verbs: verbs},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		}}, "example.org/v1": {APIResources: []metav1.APIResource{
			{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs},
		}}},
	}
}

func registry(
	name string, target searchv1.ClusterAffinity, selectors ...searchv1.ResourceSelector,
) searchv1.ResourceRegistry {
	return searchv1.ResourceRegistry{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       searchv1.ResourceRegistrySpec{TargetCluster: target, ResourceSelectors: selectors},
	}
}

// TestNamespacesOfARegistryAreOfItsClusters guards against a namespace of one registry that is cached in the clusters
// of another one.
func TestNamespacesOfARegistryAreOfItsClusters(t *testing.T) {
	pods := func(namespace string) searchv1.ResourceSelector {
		return searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod", Namespace: namespace}
	}
	got := selectKinds([]searchv1.ResourceRegistry{
		registry("both", searchv1.ClusterAffinity{}, pods("a"), searchv1.ResourceSelector{APIVersion: "v1", Kind: "Node", Namespace: "a"}),
		registry("first", searchv1.ClusterAffinity{ClusterNames: []string{"c1"}}, pods("b")),
		registry("third", searchv1.ClusterAffinity{ClusterNames: []string{"c3"}}, pods("")),
	}, []fleet.Member{cluster("c1", "x"), cluster("c2", "x"), cluster("c3", "x")}, nil)
	v1 := schema.GroupVersion{Version: "v1"}
	want := []cache.Scope{{Cluster: "c1", Namespaces: []string{"a", "b"}}, {Cluster: "c2", Namespaces: []string{"a"}}, {Cluster: "c3"}}
	if d := cmp.Diff(want, got.kinds[v1.WithResource("pods")].kind.Scopes); d != "" {
		t.Error(d)
	}
	want = []cache.Scope{{Cluster: "c1"}, {Cluster: "c2"}, {Cluster: "c3"}}
	if d := cmp.Diff(want, got.kinds[v1.WithResource("nodes")].kind.Scopes); d != "" {
		t.Error("cluster-scoped kinds have no namespaces:", d)
	}
	if len(got.problems) > 0 {
		t.Error(got.problems)
	}
}

func TestAffinitySelectsClusters(t *testing.T) {
	members := []fleet.Member{cluster("c1", "east", "e1", "e2"), cluster("c2", "west", "w1"), cluster("c3", "west", "w2")}
	field := func(key, operator string, values ...string) *searchv1.FieldSelector {
		return &searchv1.FieldSelector{MatchExpressions: []searchv1.FieldSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	for _, c := range []struct {
		affinity searchv1.ClusterAffinity
		want     string
	}{
		{searchv1.ClusterAffinity{}, "c1 c2 c3"},
		{searchv1.ClusterAffinity{ClusterNames: []string{"c1", "c2"}, ExcludeClusters: []string{"c2"}}, "c1"},
		{searchv1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "west"}}}, "c2 c3"},
		{searchv1.ClusterAffinity{FieldSelector: field("zone", "In", "e2", "w2")}, "c1 c3"},
		{searchv1.ClusterAffinity{FieldSelector: field("zone", "NotIn", "e2")}, "c2 c3"},
		{searchv1.ClusterAffinity{FieldSelector: field("region", "NotIn", "west"), ClusterNames: []string{"c1", "c2"}}, "c1"},
	} {
		matches, err := affinity(c.affinity)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range members {
			if matches(m) {
				got = append(got, m.Name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v selects %v, want %s", c.affinity, got, c.want)
		}
	}
	if _, err := affinity(searchv1.ClusterAffinity{FieldSelector: field("color", "In", "x")}); err == nil {
		t.Error("key color is accepted")
	}
}

func TestKindsThatNoClusterOffersAreProblems(t *testing.T) {
	for _, s := range []searchv1.ResourceSelector{
		{APIVersion: "v1", Kind: "Binding"}, {APIVersion: "v1", Kind: "Unknown"}, {APIVersion: "a/b/c", Kind: "Pod"},
	} {
		got := selectKinds([]searchv1.ResourceRegistry{registry("r", searchv1.ClusterAffinity{}, s)}, []fleet.Member{cluster("c1", "x")}, nil)
		if len(got.problems["r"]) != 1 || len(got.kinds) > 0 {
			t.Errorf("%+v: %+v", s, got)
		}
	}
}

// TestRegisteredKindsAreNeverThoseOfTheControlPlane guards against objects of the control plane in an informer's store
// while a registry selects no cluster, or only clusters that were not reached.
func TestRegisteredKindsAreNeverThoseOfTheControlPlane(t *testing.T) {
	pods := searchv1.ResourceSelector{APIVersion: "v1", Kind: "Pod"}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	c1, c2 := cluster("c1", "x"), fleet.Member{Name: "c2"} // c2 was not reached
	known := (&Server{}).knownKinds(t.Context(), []string{"v1"}, []fleet.Member{c1})
	for name, c := range map[string]struct {
		affinity           searchv1.ClusterAffinity
		members            []fleet.Member
		known              kindLists
		scopes             int
		served, unresolved bool
	}{
		"all clusters are excluded":   {searchv1.ClusterAffinity{ExcludeClusters: []string{"c1"}}, []fleet.Member{c1}, known, 0, true, false},
		"one cluster was reached":     {searchv1.ClusterAffinity{}, []fleet.Member{c1, c2}, known, 2, true, false},
		"the other one was reached":   {searchv1.ClusterAffinity{ClusterNames: []string{"c2"}}, []fleet.Member{c1, c2}, known, 1, true, false},
		"no cluster was reached":      {searchv1.ClusterAffinity{}, []fleet.Member{c2}, nil, 0, false, true},
		"there are no clusters":       {searchv1.ClusterAffinity{}, nil, nil, 0, false, true},
		"there are no clusters now":   {searchv1.ClusterAffinity{}, nil, known, 0, true, false},
		"no cluster is reached again": {searchv1.ClusterAffinity{}, []fleet.Member{c2}, known, 1, true, false},
	} {
		got := selectKinds([]searchv1.ResourceRegistry{registry("r", c.affinity, pods)}, c.members, c.known)
		k, served := got.kinds[gvr]
		if served != c.served || got.unresolved[gvr] != c.unresolved || served && len(k.kind.Scopes) != c.scopes {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestKindsOfTheControlPlane guards a process that starts while no cluster answers.
func TestKindsOfTheControlPlane(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(cluster("c1", "x").Resources["v1"])
	}))
	t.Cleanup(server.Close)
	endpoint, err := fleet.NewEndpoint(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{controlPlane: endpoint, config: Config{Log: slog.New(slog.DiscardHandler)}}
	known := s.knownKinds(t.Context(), []string{"v1", "example.com/v1"}, nil)
	if known["v1"] == nil || len(known["v1"].APIResources) != 4 || known["example.com/v1"] != nil {
		t.Errorf("%+v", known)
	}
}

// TestClustersThatLackAKindAreNamed guards against a kind or version that only some clusters have: it is served for
// these, and the condition names the others.
func TestClustersThatLackAKindAreNamed(t *testing.T) {
	newer := cluster("c1", "x")
	newer.Resources["example.com/v2"] = &metav1.APIResourceList{APIResources: []metav1.APIResource{
		{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: verbs},
	}}
	older := cluster("c2", "x")
	got := selectKinds([]searchv1.ResourceRegistry{registry("r", searchv1.ClusterAffinity{},
		searchv1.ResourceSelector{APIVersion: "example.com/v2", Kind: "Widget"})}, []fleet.Member{newer, older}, nil)
	k := got.kinds[schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}]
	if k == nil || len(k.kind.Scopes) != 1 || k.kind.Scopes[0].Cluster != "c1" || len(got.problems["r"]) > 0 {
		t.Errorf("%+v", got)
	}
	if text := strings.Join(got.lacking["r"], ""); text != "Widget of example.com/v2 is not offered by the clusters c2" {
		t.Error(text)
	}
}
