package builtin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

// checkAll checks the objects of each provider for a case.
func checkAll(t *testing.T, g golden) {
	t.Helper()
	for _, p := range builtin.Providers() {
		result := p.Render(g.route, g.cluster)
		if result.Waiting == nil && len(result.Objects) == 0 {
			t.Errorf("%s: %s: no objects", g.name, p.Names()[0])
		}
		seen := map[string]bool{}
		for _, o := range result.Objects {
			name := provider.Describe(o)
			if len(o.GetName()) > 63 || seen[name] {
				t.Errorf("%s: %s: the name %s is too long or not unique", g.name, p.Names()[0], name)
			}
			seen[name] = true
			if o.GetNamespace() != g.route.Namespace || !slices.Contains(p.Writes(), o.GroupVersionKind()) {
				t.Errorf("%s: %s: %s is of a wrong namespace or kind", g.name, p.Names()[0], name)
			}
			if found := faults(t, o); len(found) > 0 {
				t.Errorf("%s: %s: %s: %d faults, the first is: %s", g.name, p.Names()[0], name, len(found), found[0])
			}
		}
		for _, u := range result.Unsupported {
			if !strings.HasPrefix(u.Field, "spec.") || u.Text == "" {
				t.Errorf("%s: %s: unsupported %q %q", g.name, p.Names()[0], u.Field, u.Text)
			}
		}
	}
}

// render returns all results of all providers as JSON.
func render(t *testing.T, g golden) string {
	t.Helper()
	var out strings.Builder
	for _, p := range builtin.Providers() {
		text, err := json.Marshal([]any{p.Render(g.route, g.cluster), p.State(g.route, g.cluster)})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

// Objects are valid for any Route, and equal for equal input, in whatever order objects and maps are.
func TestRandomRoutes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	clusters := goldens(t)
	for i := range 25 {
		g := golden{
			name: fmt.Sprint("random ", i), route: randomRoute(random),
			cluster: clusters[random.IntN(len(clusters))].cluster,
		}
		checkAll(t, g)
		want, before := render(t, g), asJSON(t, g.cluster.Objects)
		for range 3 {
			shuffled := &providertest.Cluster{Kinds: g.cluster.Kinds, Objects: slices.Clone(g.cluster.Objects)}
			random.Shuffle(len(shuffled.Objects), func(a, b int) {
				shuffled.Objects[a], shuffled.Objects[b] = shuffled.Objects[b], shuffled.Objects[a]
			})
			again := g
			again.cluster, again.route.Labels = shuffled, maps.Clone(g.route.Labels)
			if got := render(t, again); got != want {
				t.Fatalf("%s: rendered\n%s\nand then\n%s", g.name, want, got)
			}
		}
		if asJSON(t, g.cluster.Objects) != before {
			t.Fatalf("%s: a provider changed objects of the cluster", g.name)
		}
	}
}

// Labels of objects are copies: changing one object does not change another, or the Route.
func TestObjectsShareNothing(t *testing.T) {
	for _, g := range goldens(t) {
		g.route.Labels = map[string]string{"a": "b"}
		for _, p := range builtin.Providers() {
			objects := p.Render(g.route, g.cluster).Objects
			before := asJSON(t, objects[min(1, len(objects)):])
			if len(objects) > 0 {
				scramble(objects[0].Object)
			}
			if asJSON(t, objects[min(1, len(objects)):]) != before || g.route.Labels["a"] != "b" {
				t.Errorf("%s: %s: objects share memory", g.name, p.Names()[0])
			}
		}
	}
}

func scramble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			scramble(v)
			if _, ok := v.(string); ok {
				value[k] = "scrambled"
			}
		}
	case []any:
		for _, v := range value {
			scramble(v)
		}
	}
}

func asJSON(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func randomRoute(random *rand.Rand) provider.Route {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	out := provider.Route{
		Namespace: "shop", Name: pick("web", "a.b", strings.Repeat("long-", 11)+"name", strings.Repeat("x", 63)),
		Host: pick("shop.example.com", "*.example.com"), Class: pick("", "", "public", "infra/public"),
		Labels: map[string]string{"a": "1", "b": "2", "c": pick("3", "")},
	}
	if random.IntN(2) == 0 {
		out.TLS = &provider.TLS{Secret: provider.CertificateSecret(out.Name)}
	}
	for i := range 1 + random.IntN(20) {
		r := provider.Rule{
			Name: fmt.Sprintf("%s-%d", pick("rule", strings.Repeat("y", 55)), i), Field: fmt.Sprintf("spec.rules[%d]", i),
			Path:          pick("/", "/a", "/a/", fmt.Sprintf("/p%d", i), "/a.b/c~d", "/%41:@!$&'()*+,;="),
			RewriteTarget: pick("", "", "/", "/x", "/x/y/", "/$1", "relative", "/a//b", "/ü"),
			Backend:       provider.Backend{Service: pick("web", "api"), Port: int32(1 + random.IntN(65535))},
			ReadTimeout:   time.Duration(random.IntN(3)) * 700 * time.Millisecond,
			SendTimeout:   time.Duration(random.IntN(3)) * 90 * time.Second,
		}
		for h := range random.IntN(20) {
			r.Headers = append(r.Headers, provider.Header{
				Name: pick("", "X ", "x-", "X-") + fmt.Sprint(h), Value: pick("", " ", "plain", "%REQ(:path)%", "a\nb", "ä", `"\`),
			})
		}
		switch random.IntN(4) {
		case 0:
			r.Default = &provider.ObjectRef{Kind: "Service", Name: pick("sorry", "missing")}
		case 1:
			r.Default = &provider.ObjectRef{Group: "example.com", Kind: "Bucket", Name: "pages"}
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}
