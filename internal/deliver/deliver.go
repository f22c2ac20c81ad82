package deliver

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/internal/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Publisher is what the discovery server does with configuration.
type Publisher interface {
	Publish(key string, snapshot *xds.Snapshot, since time.Time)
	Remove(key string)
	Disconnect(match func(xds.Client) bool) int
}

// Deliverer renders views and publishes them. Its zero value is not usable; use New.
type Deliverer struct {
	publisher Publisher
	driver    string
	log       *slog.Logger
	// changed is called when the findings may have changed other than by a new state.
	changed func()

	mu       sync.Mutex
	renderer sidecar.Renderer
	rendered map[string]rendering // by workload
	refused  refusals
}

// rendering is what became of a view.
type rendering struct {
	// resources are those that were published last.
	resources map[xds.Ref]published
	// owner is where a resource is reported that comes from no field.
	owner    model.Origin
	findings []model.Finding
}

// published is what must be known of a resource to report about it.
type published struct {
	version string
	origins []model.Origin
}

// New makes a deliverer for the sidecars of one driver. It delivers nothing until SetRenderer.
func New(log *slog.Logger, driver string, changed func()) *Deliverer {
	return &Deliverer{driver: driver, log: log, changed: changed, rendered: map[string]rendering{}, refused: refusals{}}
}

// SetPublisher says where configuration goes; call it before the first state.
func (d *Deliverer) SetPublisher(p Publisher) { d.publisher = p }

// SetRenderer is a driver's Deliver; call it before the first state.
func (d *Deliverer) SetRenderer(r sidecar.Renderer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renderer = r
}

// Deliver is a sink of the flow: it publishes the views that are not those of the old state.
func (d *Deliverer) Deliver(old, now *flow.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.renderer == nil {
		return
	}
	for key, view := range now.Views {
		if old != nil && old.Views[key] == view {
			continue
		}
		if err := d.publish(key.String(), view, now.Changed); err != nil {
			d.log.Error("view is not delivered; sidecars keep what they have", "workload", key, "error", err)
		}
	}
	if old != nil {
		for key := range old.Views {
			if now.Views[key] == nil {
				delete(d.rendered, key.String())
				d.publisher.Remove(key.String())
			}
		}
		d.move(now)
	}
	d.forgetRefusals()
}

// publish renders a view. If that fails, what was published before stays, and the workload's owner is told.
func (d *Deliverer) publish(key string, view *flow.View, since time.Time) error {
	resources, findings := d.renderer.Render(view.View)
	snapshot, known, err := encode(resources)
	if err != nil {
		err = fmt.Errorf("workload %s: %w", key, err)
		failed := model.NewFinding(view.Workload.Origin, model.CodeNotSupported,
			fmt.Sprintf("driver %s cannot render %v; sidecars keep the last good configuration", d.driver, err))
		failed.Severity = model.Error
		d.rendered[key] = rendering{resources: d.rendered[key].resources, owner: view.Workload.Origin, findings: []model.Finding{failed}}
		return err
	}
	d.rendered[key] = rendering{
		resources: known, owner: view.Workload.Origin,
		findings: slices.Concat(findings, model.Unsupported(d.driver, view.Needs(), d.renderer.Supports())),
	}
	d.publisher.Publish(key, snapshot, since)
	return nil
}

// encode makes a snapshot of resources.
func encode(resources []sidecar.Resource) (*xds.Snapshot, map[xds.Ref]published, error) {
	known := map[xds.Ref]published{}
	var encoded []*xds.Resource
	for _, r := range resources {
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return nil, nil, err
		}
		encoded = append(encoded, e)
		known[xds.Ref{TypeURL: r.Type, Name: r.Name}] = published{version: e.Version, origins: r.Origins}
	}
	snapshot, err := xds.NewSnapshot(encoded...)
	return snapshot, known, err
}

// move sends sidecars away whose pod is an instance of another workload now; they come back and are placed anew.
func (d *Deliverer) move(now *flow.State) {
	d.publisher.Disconnect(func(c xds.Client) bool {
		w, known := now.WorkloadOf(c.Identity)
		return known && w.Key.String() != c.Key
	})
}
