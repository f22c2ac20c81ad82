package delivery

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Publisher is what the discovery server does with configuration.
type Publisher interface {
	Publish(key string, snapshot *xds.Snapshot, since time.Time)
	Update(key string, changed []*xds.Resource, removed []xds.Ref, since time.Time) bool
	Remove(key string)
	Disconnect(match func(xds.Client) bool) int
}

// Mesh is what sidecars must know, as it is now.
type Mesh interface {
	View(workload model.Key) (*model.View, bool)
	Reach(destination model.Key) (model.Reach, bool)
	WorkloadOf(podUID string) (model.Workload, bool)
}

// Deliverer renders views and publishes them. Its zero value is not usable; use New.
type Deliverer struct {
	publisher Publisher
	mesh      Mesh
	driver    string
	log       *slog.Logger
	// changed is called when the findings may have changed.
	changed func()

	mu           sync.Mutex
	renderer     sidecar.Renderer
	workloads    map[model.Key]*workload
	destinations map[model.Key]*destination
	refused      refusals
	rendered     *prometheus.CounterVec
}

// workload is what became of a view.
type workload struct {
	// own are the resources of the view, destinations those that it leads to, as they were published last.
	own          resources
	destinations []model.Key
	// owner is where a resource is reported that comes from no field.
	owner    model.Origin
	findings []model.Finding
}

// destination is what became of a reach: rendered once, for all workloads that have it.
type destination struct {
	resources resources
	users     map[model.Key]struct{}
}

// New makes a deliverer for the sidecars of one driver. It delivers nothing until it has a publisher, a mesh and a renderer.
func New(log *slog.Logger, driver string, changed func()) *Deliverer {
	return &Deliverer{
		driver: driver, log: log, changed: changed,
		workloads: map[model.Key]*workload{}, destinations: map[model.Key]*destination{}, refused: refusals{},
		rendered: newRendered(),
	}
}

// Connect says where configuration comes from and goes to; call it before the first change.
func (d *Deliverer) Connect(m Mesh, p Publisher) { d.mesh, d.publisher = m, p }

// SetRenderer is a driver's Deliver; call it before the first change.
func (d *Deliverer) SetRenderer(r sidecar.Renderer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renderer = r
}

// Deliver is a sink of the flow: it publishes what is not as it was.
func (d *Deliverer) Deliver(c engine.Change) {
	d.mu.Lock()
	told := d.deliver(c)
	d.mu.Unlock()
	if told {
		d.changed()
	}
}

func (d *Deliverer) deliver(c engine.Change) (told bool) {
	if d.renderer == nil {
		return false
	}
	updates := d.reach(c.Reaches)
	slices.SortFunc(c.Views, model.Key.Compare)
	for _, key := range c.Views {
		view, there := d.mesh.View(key)
		if !there {
			told = told || len(d.workload(key).findings) > 0
			d.leave(key)
			d.publisher.Remove(key.String())
			continue
		}
		before := d.workload(key).findings
		if err := d.publish(key, view, c.Since); err != nil {
			d.log.Error("view is not delivered; sidecars keep what they have", "workload", key, "error", err)
		}
		told = told || !slices.Equal(before, d.workloads[key].findings)
		delete(updates, key) // with the whole view they have been published
	}
	for _, key := range slices.SortedFunc(maps.Keys(updates), model.Key.Compare) {
		u := updates[key]
		d.publisher.Update(key.String(), u.changed, u.removed, c.Since)
	}
	d.move(c.Pods)
	return d.forgetRefusals() || told
}

// publish renders a view. If that fails, what was published before stays, and the workload's owner is told.
func (d *Deliverer) publish(key model.Key, view *model.View, since time.Time) error {
	d.rendered.WithLabelValues("view").Inc()
	rendered, findings := d.renderer.Render(view)
	own, err := encode(rendered)
	var snapshot *xds.Snapshot
	if err == nil {
		snapshot, err = d.snapshot(own, view)
	}
	if err != nil {
		err = fmt.Errorf("workload %s: %w", key, err)
		failed := model.NewFinding(view.Workload.Origin, model.CodeNotSupported,
			fmt.Sprintf("driver %s cannot render %v; sidecars keep the last good configuration", d.driver, err))
		failed.Severity = model.Error
		w := *d.workload(key)
		w.owner, w.findings = view.Workload.Origin, []model.Finding{failed}
		d.workloads[key] = &w
		return err
	}
	d.leave(key)
	w := &workload{
		own: own, owner: view.Workload.Origin,
		findings: slices.Concat(findings, model.Unsupported(d.driver, view.Needs(), d.renderer.Supports())),
	}
	for _, to := range view.Destinations {
		w.destinations = append(w.destinations, to.Key)
		d.destination(to.Key).users[key] = struct{}{}
	}
	d.workloads[key] = w
	d.publisher.Publish(key.String(), snapshot, since)
	return nil
}

// snapshot is all that the sidecars of a workload must know.
func (d *Deliverer) snapshot(own resources, view *model.View) (*xds.Snapshot, error) {
	all := own.list(nil)
	for _, to := range view.Destinations {
		all = d.destination(to.Key).resources.list(all)
	}
	return xds.NewSnapshot(all...)
}

// workload gives what is known of a workload; nothing yet is fine.
func (d *Deliverer) workload(key model.Key) *workload {
	if w := d.workloads[key]; w != nil {
		return w
	}
	return &workload{}
}

// leave forgets a workload.
func (d *Deliverer) leave(key model.Key) {
	for _, to := range d.workload(key).destinations {
		delete(d.destination(to).users, key)
		d.forget(to)
	}
	delete(d.workloads, key)
}

// move sends sidecars away whose pod is an instance of another workload now; they come back and are placed anew.
func (d *Deliverer) move(pods []string) {
	to := map[string]string{}
	for _, uid := range pods {
		if w, known := d.mesh.WorkloadOf(uid); known {
			to[uid] = w.Key.String()
		}
	}
	if len(to) > 0 {
		d.publisher.Disconnect(func(c xds.Client) bool { key, moved := to[c.Identity]; return moved && key != c.Key })
	}
}
