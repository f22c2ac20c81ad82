package delivery_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func TestOnlyChangesArePublished(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	if got := f.publisher.said(); !slices.Equal(got, []string{"publish m/back_a", "publish m/front_a"}) {
		t.Errorf("at first: %q", got)
	}
	f.mean(t, shop)
	if got := f.publisher.said(); len(got) != 0 {
		t.Errorf("nothing changed, and still: %q", got)
	}
	moved := strings.Replace(shop, "back.example", "elsewhere.example", 1)
	f.mean(t, moved)
	if got := f.publisher.said(); !slices.Equal(got, []string{"publish m/front_a"}) {
		t.Errorf("the back's address changed, which only the front must know: %q", got)
	}
	documents := strings.Split(moved, "\n---\n")
	f.mean(t, strings.Join(slices.Delete(documents, 2, 3), "\n---\n"))
	if got := f.publisher.said(); !slices.Equal(got, []string{"publish m/front_a", "remove m/back_a"}) {
		t.Errorf("the back is gone: %q", got)
	}
}

// A driver that delivers by itself sets no renderer.
func TestNothingIsPublishedWithoutRenderer(t *testing.T) {
	d := delivery.New(slog.New(slog.DiscardHandler), delivery.Class{Name: "own", Default: true}, func() {})
	f := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, d.Deliver)
	for _, o := range objects(t, shop) {
		f.Set(o)
	}
	f.Sync() // a publisher that was never set would be missed
	if got := d.Findings(); len(got) != 0 {
		t.Errorf("findings: %v", got)
	}
}

// modest is Envoy without some of its features.
type modest struct {
	envoy.Driver
	lacks model.Feature
	found []model.Finding
}

func (m modest) Supports() map[model.Feature]bool {
	all := m.Driver.Supports()
	delete(all, m.lacks)
	return all
}

func (m modest) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	resources, _ := m.Driver.Render(v)
	return resources, m.found
}

func TestUnsupportedFeaturesBecomeFindings(t *testing.T) {
	f := newFixture(t)
	f.SetRenderer(modest{lacks: "listener.http"})
	f.mean(t, shop)
	want := "Warning NotSupportedByDriver VirtualNode a/back spec.listeners[0]: driver envoy does not support listener.http\n" +
		"Warning NotSupportedByDriver VirtualService a/back: driver envoy does not support listener.http"
	if got := texts(f.Findings()); got != want {
		t.Errorf("findings:\n%s\nwant\n%s", got, want)
	}
	f.mean(t, strings.Split(shop, "\n---\n")[0])
	if got := f.Findings(); len(got) != 0 {
		t.Errorf("the workloads are gone, their findings stay: %s", texts(got))
	}
}

// A driver may keep the slice of its findings; adding to it would write into another workload's.
func TestDriverFindingsAreNotModified(t *testing.T) {
	kept := make([]model.Finding, 1, 8)
	kept[0] = model.NewFinding(model.Origin{Object: model.ObjectRef{Kind: "Mesh", Name: "m"}},
		model.CodeFieldNotImplemented, "the driver's own")
	f := newFixture(t)
	f.SetRenderer(modest{lacks: "listener.http", found: kept})
	f.mean(t, shop)
	if got := kept[:2][1]; got != (model.Finding{}) {
		t.Errorf("behind the driver's findings there is now %s", got)
	}
	if got := f.Findings(); len(got) != 3 {
		t.Errorf("findings:\n%s", texts(got))
	}
}

// clumsy renders some workload's resources twice.
type clumsy struct {
	envoy.Driver
	with string
}

func (c clumsy) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	resources, findings := c.Driver.Render(v)
	if v.Workload.Name == c.with {
		resources = append(resources, resources[0])
	}
	return resources, findings
}

// TestLastGoodConfigurationStays lets the driver fail for one workload: that one keeps what it has, the others go on,
// and its owner is told.
func TestLastGoodConfigurationStays(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	f.publisher.said()

	f.SetRenderer(clumsy{with: "back_a"})
	f.mean(t, strings.Replace(shop, "port: 80", "port: 81", 1))
	if got := f.publisher.said(); !slices.Equal(got, []string{"publish m/front_a"}) {
		t.Errorf("the back cannot be rendered: %q", got)
	}
	got := f.Findings()
	if len(got) != 1 || got[0].Object.Name != "back" || got[0].Severity != model.Error ||
		!strings.Contains(got[0].Text, "two resources") {
		t.Errorf("findings: %s", texts(got))
	}

	f.SetRenderer(envoy.Driver{})
	f.mean(t, strings.Replace(shop, "port: 80", "port: 82", 1))
	if got := f.publisher.said(); !slices.Equal(got, []string{"publish m/back_a", "publish m/front_a"}) {
		t.Errorf("the back can be rendered again: %q", got)
	}
	if got := f.Findings(); len(got) != 0 {
		t.Errorf("findings stay: %s", texts(got))
	}
}
