package dialect_test

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
)

func TestEachDialectHasAFolderWithAReadme(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range dialect.All(dialect.Settings{}) {
		if seen[d.Name()] {
			t.Errorf("two dialects are called %s", d.Name())
		}
		seen[d.Name()] = true
		if _, err := os.Stat(d.Name() + "/README.md"); err != nil {
			t.Errorf("dialect %s: %v", d.Name(), err)
		}
		if len(d.Kinds()) == 0 {
			t.Errorf("dialect %s reads nothing", d.Name())
		}
		g := incremental.New()
		m := store.NewModel(g)
		d.Rules(g, store.NewObjects(g), m)
		g.Run()
		if len(m.Snapshot().Meshes) > 0 || len(m.AllFindings()) > 0 {
			t.Errorf("dialect %s makes something of nothing", d.Name())
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !seen[e.Name()] {
			t.Errorf("folder %s is not in the list", e.Name())
		}
	}
}
