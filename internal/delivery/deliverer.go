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

// Publisher is the part of the xDS server that receives snapshots.
type Publisher interface {
	Publish(key string, snapshot *xds.Snapshot, since time.Time)
	Update(key string, changed []*xds.Resource, removed []xds.Ref, since time.Time) bool
	Remove(key string)
	Disconnect(identity, key string) int
}

// Mesh returns the current state of the mesh.
type Mesh interface {
	View(workload model.Key) (*model.View, bool)
	ResolvedDestination(destination model.Key) (model.ResolvedDestination, bool)
	WorkloadOf(podUID string) (model.Workload, bool)
	// Classes lists the sidecarClasses of a workload's pods, ClassOf returns the class of one pod; empty means no
	// annotation.
	Classes(workload model.Key) []string
	ClassOf(podUID string) string
}

// Deliverer renders views for the sidecars of one driver and publishes them. Use New.
type Deliverer struct {
	publisher Publisher
	mesh      Mesh
	class     Class
	log       *slog.Logger
	// changed is called when the findings may have changed.
	changed func()

	mu           sync.Mutex
	renderer     sidecar.Renderer
	workloads    map[model.Key]*workload
	destinations map[model.Key]*destination
	rendered     *prometheus.CounterVec

	// rejected has its own lock, so that an ACK does not wait for a delivery. It is acquired after mu.
	rejected rejections
}

// workload is the rendered state of a view.
type workload struct {
	// own are the last published resources of the view, destinations its last published destinations.
	own          resources
	destinations []model.Key
	// owner is the origin of resources that have no other.
	owner    model.Origin
	findings []model.Finding
	// used is true if a pod of the workload has the driver.
	used bool
}

// destination is a rendered destination. It is rendered once for all workloads that use it, and dropped with its last
// user.
type destination struct {
	resources resources
	users     map[model.Key]struct{}
}

// New creates a deliverer for the sidecars of one driver. It publishes nothing until it has a publisher, a mesh and a
// renderer.
func New(log *slog.Logger, class Class, changed func()) *Deliverer {
	return &Deliverer{
		class: class, log: log, changed: changed,
		workloads: map[model.Key]*workload{}, destinations: map[model.Key]*destination{}, rejected: newRejections(),
		rendered: newRendered(),
	}
}

// Connect sets the source and the target of configuration; call it before the first change.
func (d *Deliverer) Connect(m Mesh, p Publisher) { d.mesh, d.publisher = m, p }

// SetRenderer sets the renderer; it is the Deliver function of the driver's ControllerContext. Call it before the first
// change.
func (d *Deliverer) SetRenderer(r sidecar.Renderer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renderer = r
}

// Renders reports whether there is a renderer. A driver that delivers configuration itself sets none.
func (d *Deliverer) Renders() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.renderer != nil
}

// Deliver is an engine.Sink: it renders and publishes a change.
func (d *Deliverer) Deliver(c engine.Change) {
	d.mu.Lock()
	changed := d.deliver(c)
	d.mu.Unlock()
	if changed {
		d.changed()
	}
}

func (d *Deliverer) deliver(c engine.Change) (changed bool) {
	if d.renderer == nil {
		return false
	}
	updates := d.renderDestinations(c.Destinations)
	for _, key := range d.affected(c) {
		changed = d.syncWorkload(key, c.Since) || changed
		delete(updates, key) // syncWorkload published them in the snapshot
	}
	for _, key := range slices.SortedFunc(maps.Keys(updates), model.Key.Compare) {
		u := updates[key]
		d.publisher.Update(key.String(), u.changed, u.removed, c.Since)
	}
	changed = d.updateUsed(c.Classes) || changed
	d.disconnectMoved(c.Pods)
	return d.pruneRejections() || changed
}

// syncWorkload publishes the current state of a workload, or removes it, and reports whether its findings changed.
func (d *Deliverer) syncWorkload(key model.Key, since time.Time) (changed bool) {
	before := d.workload(key).activeFindings()
	classes := d.mesh.Classes(key)
	view, there := d.mesh.View(key)
	if !there || !d.class.serves(classes) {
		if d.workloads[key] != nil {
			d.removeWorkload(key)
			d.publisher.Remove(key.String())
		}
		return len(before) > 0
	}
	if err := d.publish(key, view, since); err != nil {
		d.log.Error("view is not delivered; sidecars keep their configuration", "workload", key, "driver", d.class.Name,
			"error", err)
	}
	w := d.workloads[key]
	w.used = d.class.uses(classes)
	return !slices.Equal(before, w.activeFindings())
}

// publish renders a view and publishes its snapshot. On error the previous snapshot stays, and the workload gets a
// finding.
func (d *Deliverer) publish(key model.Key, view *model.View, since time.Time) error {
	d.rendered.WithLabelValues("view").Inc()
	rendered, findings := d.renderer.Render(view)
	w := &workload{owner: view.Workload.Origin}
	for _, to := range view.Destinations {
		w.destinations = append(w.destinations, to.Key)
		d.addUser(to.Key, key)
	}
	before := d.workload(key)
	var snapshot *xds.Snapshot
	var err error
	if w.own, err = encode(append(rendered, hostResources(view)...)); err == nil {
		snapshot, err = d.snapshot(w)
	}
	if err != nil {
		err = fmt.Errorf("workload %s: %w", key, err)
		failed := model.NewFinding(view.Workload.Origin, model.CodeNotSupported,
			fmt.Sprintf("driver %s cannot render %v; sidecars keep the last good configuration", d.class.Name, err))
		failed.Severity = model.Error
		d.removeUser(key, w.destinations, before.destinations)
		w.own, w.destinations, w.findings = before.own, before.destinations, []model.Finding{failed}
		d.workloads[key] = w
		return err
	}
	w.findings = slices.Concat(findings, model.Unsupported(d.class.Name, view.Needs(), d.renderer.Supports()))
	d.removeUser(key, before.destinations, w.destinations)
	d.workloads[key] = w
	d.publisher.Publish(key.String(), snapshot, since)
	return nil
}

// snapshot returns all resources of a workload.
func (d *Deliverer) snapshot(w *workload) (*xds.Snapshot, error) {
	all := w.own.appendTo(nil)
	for _, to := range w.destinations {
		all = d.destinations[to].resources.appendTo(all)
	}
	return xds.NewSnapshot(all...)
}

// workload returns the rendered state of a workload; it is empty for a new one.
func (d *Deliverer) workload(key model.Key) *workload {
	if w := d.workloads[key]; w != nil {
		return w
	}
	return &workload{}
}

// removeWorkload drops a workload and its unused destinations.
func (d *Deliverer) removeWorkload(key model.Key) {
	d.removeUser(key, d.workload(key).destinations, nil)
	delete(d.workloads, key)
}

// disconnectMoved disconnects sidecars whose pod changed its workload or driver. They reconnect and are authorized
// again.
func (d *Deliverer) disconnectMoved(pods []string) {
	for _, uid := range pods {
		w, known := d.mesh.WorkloadOf(uid)
		switch {
		case known && d.class.Has(d.mesh.ClassOf(uid)):
			d.publisher.Disconnect(uid, w.Key.String())
		case known:
			d.publisher.Disconnect(uid, "")
		}
	}
}
