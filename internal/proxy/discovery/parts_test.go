package discovery

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// fakeProxy refuses clusters with the name bad.
type fakeProxy struct {
	clusters map[string]bool
	received int // objects
}

func (f *fakeProxy) Patch(c *config.Config, r proxy.Removed) error {
	f.received += len(c.Clusters) + len(r.Clusters)
	for _, one := range c.Clusters {
		if one.Name == "bad" {
			return errors.New("bad")
		}
	}
	for _, one := range c.Clusters {
		f.clusters[one.Name] = true
	}
	for _, name := range r.Clusters {
		delete(f.clusters, name)
	}
	return nil
}

func newParts() (*fakeProxy, *parts) {
	f := &fakeProxy{clusters: map[string]bool{}}
	return f, &parts{proxy: f, applied: map[string]*config.Config{}, owners: map[object]string{}}
}

func cluster(t *testing.T, resource, name string) change {
	t.Helper()
	part, err := parse([]byte(`{"clusters":[{"name":"` + name + `","spec":{"protocol":"TCP","port":9000}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return change{resource, part}
}

// A part that the proxy refuses hurts only itself, and the one before stays.
func TestBadPart(t *testing.T) {
	f, p := newParts()
	if refused := p.apply([]change{cluster(t, "a", "one"), cluster(t, "b", "two")}); len(refused) > 0 {
		t.Fatal(refused)
	}
	refused := p.apply([]change{cluster(t, "a", "bad"), cluster(t, "c", "three"), {name: "b"}})
	if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("refused %v", refused)
	}
	want := []string{"one", "three"}
	if got := slices.Sorted(maps.Keys(f.clusters)); !slices.Equal(got, want) {
		t.Errorf("the proxy has %v, want %v", got, want)
	}
}

// The proxy gets what has changed, whatever the number of parts.
func TestOnlyDifferences(t *testing.T) {
	f, p := newParts()
	var all []change
	for i := range 1000 {
		all = append(all, cluster(t, fmt.Sprint("part", i), fmt.Sprint("cluster", i)))
	}
	if refused := p.apply(all); len(refused) > 0 || len(f.clusters) != 1000 {
		t.Fatal(refused, len(f.clusters))
	}
	for _, c := range []struct {
		change   change
		received int
	}{
		{cluster(t, "part7", "cluster7"), 1},
		{cluster(t, "part8", "renamed"), 2},
		{change{name: "part9"}, 1},
		{cluster(t, "new", "cluster9"), 1}, // it was removed
	} {
		f.received = 0
		if refused := p.apply([]change{c.change}); len(refused) > 0 || f.received != c.received {
			t.Errorf("%s: refused %v, the proxy got %d objects, want %d", c.change.name, refused, f.received, c.received)
		}
	}
	// An object of another part is refused, unless it moves in the same response.
	if refused := p.apply([]change{cluster(t, "thief", "cluster7")}); len(refused) != 1 {
		t.Errorf("refused %v", refused)
	}
	if refused := p.apply([]change{cluster(t, "thief", "cluster7"), {name: "part7"}}); len(refused) > 0 {
		t.Errorf("refused %v", refused)
	}
	if !f.clusters["cluster7"] || f.clusters["cluster8"] || !f.clusters["renamed"] || len(f.clusters) != 1000 {
		t.Errorf("the proxy has %d clusters", len(f.clusters))
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"clusters":[{"name":"a"}]}`, `{"other":1}`} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
