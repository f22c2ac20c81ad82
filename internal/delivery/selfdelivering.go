package delivery

import (
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// ReportOnly makes the deliverer of a driver that delivers configuration itself report findings, and publish nothing.
// Call it before the first change, in place of SetRenderer.
func (d *Deliverer) ReportOnly(r sidecar.Renderer) { d.SetRenderer(findingsOnly{r}) }

// PublishNames makes the deliverer publish host names only. It reports nothing. Call it before the first change, in
// place of SetRenderer.
func (d *Deliverer) PublishNames() { d.SetRenderer(namesOnly{}) }

// findingsOnly renders no resources.
type findingsOnly struct{ of sidecar.Renderer }

func (r findingsOnly) Supports() map[model.Feature]bool { return r.of.Supports() }

func (r findingsOnly) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	_, findings := sidecar.Configuration(r.of, v, func(model.Key) (model.ResolvedDestination, bool) {
		return model.ResolvedDestination{}, false
	})
	return nil, findings
}

func (findingsOnly) RenderDestination(model.ResolvedDestination) []sidecar.Resource { return nil }

// namesOnly renders nothing: the deliverer adds host names.
type namesOnly struct{}

// Supports lists all features: what the sidecars lack is reported for their drivers.
func (namesOnly) Supports() map[model.Feature]bool {
	all := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		all[f] = true
	}
	return all
}

func (namesOnly) Render(*model.View) ([]sidecar.Resource, []model.Finding) { return nil, nil }

func (namesOnly) RenderDestination(model.ResolvedDestination) []sidecar.Resource { return nil }

// nobody is a Publisher without clients.
type nobody struct{}

func (nobody) HasClients(string) bool                             { return false }
func (nobody) Publish(string, *xds.Snapshot, time.Time)           {}
func (nobody) Update(*xds.Shared, *xds.Update, time.Time) (n int) { return 0 }
func (nobody) Unpublish(string) bool                              { return true }
func (nobody) Remove(string)                                      {}
func (nobody) Disconnect(string, string) int                      { return 0 }
