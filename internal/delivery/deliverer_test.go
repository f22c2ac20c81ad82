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
	f.applyYAML(t, shop)
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"publish m/back_a", "publish m/front_a"}) {
		t.Errorf("start: got %q", got)
	}
	f.applyYAML(t, shop)
	if got := f.publisher.takeCalls(); len(got) != 0 {
		t.Errorf("no change: got %q", got)
	}
	moved := strings.Replace(shop, "back.example", "elsewhere.example", 1)
	f.applyYAML(t, moved)
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"update m/front_a +" + toBack}) {
		t.Errorf("host name of back changed: got %q, want an update of front only", got)
	}
	documents := strings.Split(moved, "\n---\n")
	f.applyYAML(t, strings.Join(slices.Delete(documents, 2, 3), "\n---\n"))
	if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"remove m/back_a",
		"update m/front_a +lds_egress_0.0.0.0_15001 -" + toBack + " -rds_egress_http_80/back.a -" + scopeOfBack}) {
		t.Errorf("back deleted: got %q", got)
	}
}

const scopeOfBack = "xdstp://anymesh/envoy.config.route.v3.ScopedRouteConfiguration/rds_egress_http_80/back.a"

// A driver that delivers configuration itself sets no renderer.
func TestNothingIsPublishedWithoutRenderer(t *testing.T) {
	d := delivery.New(slog.New(slog.DiscardHandler), delivery.Class{Name: "own", Default: true}, func() {})
	f := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, d.Deliver)
	for _, o := range objects(t, shop) {
		f.Set(o)
	}
	f.Sync() // must not use the publisher, which is nil
	if got := d.Findings(); len(got) != 0 {
		t.Errorf("got findings %v", got)
	}
}

// limitedDriver is Envoy without one feature.
type limitedDriver struct {
	envoy.Driver
	unsupported model.Feature
	findings    []model.Finding
}

func (m limitedDriver) Supports() map[model.Feature]bool {
	all := m.Driver.Supports()
	delete(all, m.unsupported)
	return all
}

func (m limitedDriver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	resources, _ := m.Driver.Render(v)
	return resources, m.findings
}

func TestUnsupportedFeaturesBecomeFindings(t *testing.T) {
	f := newFixture(t)
	f.SetRenderer(limitedDriver{unsupported: "listener.http"})
	f.applyYAML(t, shop)
	want := "Warning NotSupportedByDriver VirtualNode a/back spec.listeners[0]: driver envoy does not support listener.http\n" +
		"Warning NotSupportedByDriver VirtualService a/back: driver envoy does not support listener.http"
	if got := texts(f.Findings()); got != want {
		t.Errorf("got findings\n%s\nwant\n%s", got, want)
	}
	f.applyYAML(t, strings.Split(shop, "\n---\n")[0])
	if got := f.Findings(); len(got) != 0 {
		t.Errorf("workloads deleted: got findings %s", texts(got))
	}
}

// The deliverer must not append to the slice of findings of a driver, which may keep it.
func TestDriverFindingsAreNotModified(t *testing.T) {
	kept := make([]model.Finding, 1, 8)
	kept[0] = model.NewFinding(model.NewOrigin(model.ObjectRef{Kind: "Mesh", Name: "m"}),
		model.CodeFieldNotImplemented, "finding of the driver")
	f := newFixture(t)
	f.SetRenderer(limitedDriver{unsupported: "listener.http", findings: kept})
	f.applyYAML(t, shop)
	if got := kept[:2][1]; got != (model.Finding{}) {
		t.Errorf("the deliverer appended %s to the slice of the driver", got)
	}
	if got := f.Findings(); len(got) != 3 {
		t.Errorf("got findings\n%s", texts(got))
	}
}

// duplicateDriver renders a duplicate resource for one workload.
type duplicateDriver struct {
	envoy.Driver
	workload string
}

func (c duplicateDriver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	resources, findings := c.Driver.Render(v)
	if v.Workload.Name == c.workload {
		resources = append(resources, resources[0])
	}
	return resources, findings
}

// If rendering fails for a workload, the workload keeps its last configuration and gets a finding. Other workloads
// are not affected.
func TestFailedRenderingKeepsLastConfiguration(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.publisher.takeCalls()

	f.SetRenderer(duplicateDriver{workload: "back_a"})
	f.applyYAML(t, strings.Replace(shop, "port: 80", "port: 81", 1))
	if got := f.publisher.takeCalls(); len(got) != 1 || !strings.HasPrefix(got[0], "update m/front_a ") {
		t.Errorf("failed rendering of back: got %q", got)
	}
	got := f.Findings()
	if len(got) != 1 || got[0].Object.Name != "back" || got[0].Severity != model.Error ||
		!strings.Contains(got[0].Text, "two resources") {
		t.Errorf("got findings %s", texts(got))
	}

	f.SetRenderer(envoy.Driver{})
	f.applyYAML(t, strings.Replace(shop, "port: 80", "port: 82", 1))
	if got := f.publisher.takeCalls(); len(got) != 2 || got[0] != "publish m/back_a" ||
		!strings.HasPrefix(got[1], "update m/front_a ") {
		t.Errorf("fixed rendering of back: got %q", got)
	}
	if got := f.Findings(); len(got) != 0 {
		t.Errorf("fixed rendering of back: got findings %s", texts(got))
	}
}
