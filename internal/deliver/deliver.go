package deliver

import (
	"fmt"
	"log/slog"
	"sync"

	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/internal/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Publisher is what the discovery server does with configuration.
type Publisher interface {
	Publish(key string, snapshot *xds.Snapshot)
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
	rendered map[string]rendering      // by workload
	refused  map[refusal]model.Finding // by workload, resource and origin
}

// rendering is what became of a view.
type rendering struct {
	origins  map[xds.Ref][]model.Origin
	findings []model.Finding
}

type refusal struct {
	workload string
	ref      xds.Ref
	origin   model.Origin
}

// New makes a deliverer for the sidecars of one driver. It delivers nothing until SetRenderer.
func New(log *slog.Logger, driver string, changed func()) *Deliverer {
	return &Deliverer{driver: driver, log: log, changed: changed, rendered: map[string]rendering{}, refused: map[refusal]model.Finding{}}
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
		if err := d.publish(key.String(), view); err != nil {
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
}

func (d *Deliverer) publish(key string, view *flow.View) error {
	resources, findings := d.renderer.Render(view.View)
	findings = append(findings, model.Unsupported(d.driver, view.Needs(), d.renderer.Supports())...)
	next := rendering{origins: map[xds.Ref][]model.Origin{}, findings: findings}
	var encoded []*xds.Resource
	for _, r := range resources {
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return fmt.Errorf("workload %s: %w", key, err)
		}
		encoded = append(encoded, e)
		next.origins[xds.Ref{TypeURL: r.Type, Name: r.Name}] = r.Origins
	}
	snapshot, err := xds.NewSnapshot(encoded...)
	if err != nil {
		return fmt.Errorf("workload %s: %w", key, err)
	}
	d.rendered[key] = next
	d.publisher.Publish(key, snapshot)
	return nil
}

// move sends sidecars away whose pod is an instance of another workload now; they come back and are placed anew.
func (d *Deliverer) move(now *flow.State) {
	d.publisher.Disconnect(func(c xds.Client) bool {
		w, known := now.WorkloadOf(c.Identity)
		return known && w.Key.String() != c.Key
	})
}

// Findings gives what is wrong between views and sidecars, in canonical order.
func (d *Deliverer) Findings() []model.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []model.Finding
	for _, r := range d.rendered {
		out = append(out, r.findings...)
	}
	for _, f := range d.refused {
		out = append(out, f)
	}
	return model.SortFindings(out)
}

// Rejected notes that a sidecar refused resources: a finding about each field that they come from.
func (d *Deliverer) Rejected(key, typeURL string, names []string, message string) {
	d.log.Warn("a sidecar refused configuration", "workload", key, "type", typeURL, "resources", names, "error", message)
	d.mu.Lock()
	for _, name := range names {
		ref := xds.Ref{TypeURL: typeURL, Name: name}
		for _, origin := range d.rendered[key].origins[ref] {
			d.refused[refusal{key, ref, origin}] = model.NewFinding(origin, model.CodeRejected,
				fmt.Sprintf("the sidecars of workload %s refuse %s: %s", key, name, message))
		}
	}
	d.mu.Unlock()
	d.changed()
}

// Acked takes back what was said about the resources of a type that a sidecar has now accepted.
func (d *Deliverer) Acked(key, typeURL, _ string) {
	d.mu.Lock()
	before := len(d.refused)
	for r := range d.refused {
		if r.workload == key && r.ref.TypeURL == typeURL {
			delete(d.refused, r)
		}
	}
	mended := len(d.refused) != before
	d.mu.Unlock()
	if mended {
		d.changed()
	}
}
