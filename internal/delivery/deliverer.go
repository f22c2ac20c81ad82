package delivery

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Publisher is the part of the xDS server that receives the resources of workloads with clients.
type Publisher interface {
	HasClients(key string) bool
	Publish(key string, snapshot *xds.Snapshot, since time.Time)
	Update(shared *xds.Shared, u *xds.Update, since time.Time) (keys int)
	Unpublish(key string) bool
	Remove(key string)
	Disconnect(identity, key string) int
}

// Mesh returns the current state of the mesh.
type Mesh interface {
	View(workload model.Key) (*model.View, bool)
	// OutboundKeyOf returns the key of a workload's outbound view, OutboundView an outbound view with its mesh.
	OutboundKeyOf(workload model.Key) (model.OutboundKey, bool)
	OutboundView(model.OutboundKey) (model.Mesh, *model.OutboundView, bool)
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
	// broker notifies the driver of changes.
	broker sidecar.Broker

	mu           sync.Mutex
	renderer     sidecar.Renderer
	workloads    map[model.Key]*workload
	outbound     map[model.OutboundKey]*outboundView
	destinations map[destinationKey]*destination
	// secured are the keys with TLS of destinations.
	secured  map[model.Key][]destinationKey
	rendered *prometheus.CounterVec

	// rejected has its own lock, so that an ACK does not wait for a delivery. It is acquired after mu.
	rejected rejections
	// authority is what the agents get to know of the authority of the mesh.
	authority authority
	// reported are findings of the driver itself.
	reported reports
	// unused drops the resources of workloads without clients.
	unused unusedTimers
}

// New creates a deliverer for the sidecars of one driver. It publishes nothing until it has a publisher, a mesh and a
// renderer.
func New(log *slog.Logger, class Class, changed func()) *Deliverer {
	return &Deliverer{
		class: class, log: log, changed: changed,
		workloads: map[model.Key]*workload{}, outbound: map[model.OutboundKey]*outboundView{},
		destinations: map[destinationKey]*destination{}, secured: map[model.Key][]destinationKey{},
		rejected: newRejections(), unused: unusedTimers{byKey: map[string]*time.Timer{}}, rendered: newRendered(),
	}
}

// Connect sets the source and the target of configuration; call it before the first change. Nil is a target without
// clients.
func (d *Deliverer) Connect(m Mesh, p Publisher) {
	if d.mesh, d.publisher = m, p; p == nil {
		d.publisher = nobody{}
	}
}

// Broker notifies of changes of the workloads that have sidecars of the driver, and of destinations.
func (d *Deliverer) Broker() *sidecar.Broker { return &d.broker }

// SetRenderer sets the renderer; it is the Deliver function of the driver's ControllerContext. Call it before the first
// change.
func (d *Deliverer) SetRenderer(r sidecar.Renderer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renderer = sidecar.Protected(d.class.Name, r)
}

// Renders reports whether there is a renderer. A driver that delivers configuration itself sets none.
func (d *Deliverer) Renders() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.renderer != nil
}

// Deliver is an engine.Sink: it renders a change, and publishes it to workloads with clients.
func (d *Deliverer) Deliver(c engine.Change) {
	d.mu.Lock()
	notice := d.notice(c)
	changed := d.deliver(c)
	d.mu.Unlock()
	d.notify(notice)
	if changed {
		d.changed()
	}
}

func (d *Deliverer) deliver(c engine.Change) (changed bool) {
	if d.renderer == nil {
		return false
	}
	pending := updates{}
	d.renderDestinations(c.Destinations, pending)
	snapshots, changed := d.renderOutboundViews(c.OutboundViews, pending)
	affected := d.affected(c, snapshots)
	stays := map[model.Key]bool{}
	for _, key := range affected { // those that leave an outbound view do not get its update
		if stays[key] = d.staysInOutboundView(key); !stays[key] {
			changed = d.syncWorkload(key, c.Since) || changed
		}
	}
	d.publishUpdates(pending, c.Since)
	for _, key := range affected {
		if stays[key] {
			changed = d.syncWorkload(key, c.Since) || changed
		}
	}
	changed = d.updateUsed(c.Classes) || changed
	d.disconnectMoved(c.Pods)
	return d.pruneRejections() || changed
}

// disconnectMoved disconnects sidecars whose pod changed its workload or driver, is no instance of a workload any more,
// or is gone. They reconnect, if they can, and are authorized again. A pod that is being deleted is an instance until
// it is gone.
func (d *Deliverer) disconnectMoved(pods []string) {
	for _, uid := range pods {
		w, known := d.mesh.WorkloadOf(uid)
		switch {
		case known && d.class.Has(d.mesh.ClassOf(uid)):
			d.publisher.Disconnect(uid, w.Key.String())
		default:
			d.publisher.Disconnect(uid, "")
		}
	}
}
