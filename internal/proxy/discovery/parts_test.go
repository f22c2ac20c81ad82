package discovery

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// fakeProxy refuses clusters with the name bad.
type fakeProxy struct{ clusters []string }

func (f *fakeProxy) Replace(c *config.Config) error {
	var names []string
	for _, one := range c.Clusters {
		if names = append(names, one.Name); one.Name == "bad" {
			return errors.New("bad")
		}
	}
	f.clusters = names
	return nil
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
	f := &fakeProxy{}
	p := parts{proxy: f, applied: map[string]*config.Config{}}
	if refused := p.apply([]change{cluster(t, "a", "one"), cluster(t, "b", "two")}); len(refused) > 0 {
		t.Fatal(refused)
	}
	refused := p.apply([]change{cluster(t, "a", "bad"), cluster(t, "c", "three"), {name: "b"}})
	if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("refused %v", refused)
	}
	if want := []string{"one", "three"}; !slices.Equal(f.clusters, want) {
		t.Errorf("the proxy has %v, want %v", f.clusters, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"clusters":[{"name":"a"}]}`, `{"other":1}`} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
