package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// workload is a workload with its findings, and its resources while it has clients.
type workload struct {
	key model.Key
	// requested is the outbound view that the workload asks for.
	requested *outboundView
	// outbound is the outbound view that the workload is published with. It differs from requested after an error, and is
	// nil if the workload is not published. own are the published resources that only the workload has.
	outbound *outboundView
	own      resources
	// owner is the origin of resources that have no other.
	owner    model.Origin
	findings []model.Finding
	// unsupported are the needs of the view without its outbound view that the driver does not support.
	unsupported []model.Need
	err         error // of the last rendering
	// used is true if a pod of the workload has the driver.
	used bool
}

// syncWorkload renders the current state of a workload, or removes it, and reports whether its findings changed. It
// publishes a workload with clients.
func (d *Deliverer) syncWorkload(key model.Key, since time.Time) (changed bool) {
	w := d.workloads[key]
	before := d.activeFindings(w)
	classes := d.mesh.Classes(key)
	view, there := d.mesh.View(key)
	if !there || !d.class.Serves(classes) {
		if w != nil {
			d.removeWorkload(w)
		}
		return len(before) > 0
	}
	if w == nil {
		w = &workload{key: key}
		d.workloads[key] = w
	}
	if err := d.render(w, view, since); err != nil {
		d.log.Error("view is not delivered; sidecars keep their configuration", "workload", key, "driver", d.class.Name,
			"error", err)
	}
	w.used = d.class.uses(classes)
	return !slices.Equal(before, d.activeFindings(w))
}

// staysInOutboundView reports whether a workload that is published keeps its outbound view.
func (d *Deliverer) staysInOutboundView(key model.Key) bool {
	w := d.workloads[key]
	if w == nil || w.outbound == nil || !d.class.Serves(d.mesh.Classes(key)) {
		return false
	}
	now, there := d.mesh.OutboundKeyOf(key)
	return there && now == w.outbound.key
}

// render renders a view, and publishes its resources if the workload has clients. On error the previous ones stay, and
// the workload gets a finding.
func (d *Deliverer) render(w *workload, view *model.View, since time.Time) error {
	publish := w.outbound != nil || d.publisher.HasClients(w.key.String())
	d.request(w)
	if r := w.requested; r.err == nil && (!r.rendered || publish && r.published == nil) {
		d.renderOutbound(r, publish, update{})
	}
	d.rendered.WithLabelValues("view").Inc()
	own := *view
	own.OutboundView = model.OutboundView{}
	source := view
	if _, shares := d.renderer.(sidecar.OutboundRenderer); shares {
		source = &own
	}
	var rendered []sidecar.Resource
	rendered, w.findings = d.renderer.Render(source)
	rendered = append(slices.Clip(rendered), logLevel(cmp.Or(view.Mesh.SidecarLogLevel, d.class.LogLevel))...)
	w.owner, w.unsupported = view.Workload.Origin, nil
	supports := d.renderer.Supports()
	for _, need := range own.Needs() {
		if !supports[need.Feature] {
			w.unsupported = append(w.unsupported, need)
		}
	}
	if publish {
		w.err = d.publish(w, rendered, since)
	} else {
		w.err = addNames(map[xds.Ref]*xds.Resource{}, rendered)
	}
	if w.err != nil {
		return fmt.Errorf("workload %s: %w", w.key, w.err)
	}
	return nil
}

// request changes the outbound view that a workload asks for to the current one.
func (d *Deliverer) request(w *workload) {
	key, _ := d.mesh.OutboundKeyOf(w.key)
	before, now := w.requested, d.outboundView(key)
	if before == now {
		return
	}
	w.requested = now
	now.users[w] = struct{}{}
	if before != nil {
		delete(before.users, w)
		d.dropUnused(before)
	}
}

// publish publishes a snapshot of a workload with rendered resources. On error the previous snapshot stays.
func (d *Deliverer) publish(w *workload, rendered []sidecar.Resource, since time.Time) error {
	r, before := w.requested, w.outbound
	defer d.dropUnused(r) // after an error
	if r.published == nil {
		return r.err
	}
	if d.authority.resource != nil {
		rendered = append(slices.Clip(rendered), *d.authority.resource)
	}
	own, err := encode(rendered, w.own)
	if err != nil {
		return err
	}
	snapshot, err := r.snapshot(own)
	if err != nil {
		return err
	}
	w.own, w.outbound = own, r
	r.clients[w] = struct{}{}
	if before != nil && before != r {
		delete(before.clients, w)
		d.dropUnused(before)
	}
	d.publisher.Publish(w.key.String(), snapshot, since)
	return nil
}

// publishUpdates publishes the updates of outbound views to their clients.
func (d *Deliverer) publishUpdates(pending updates, since time.Time) {
	for r, u := range pending {
		r.addWithheld(u)
		if len(u) > 0 && r.published != nil && r.published.shared != nil {
			d.publisher.Update(r.published.shared, u.published(), since)
		}
	}
}

// snapshot returns all resources of a workload that is published with the outbound view.
func (r *outboundView) snapshot(own resources) (*xds.Snapshot, error) {
	if r.published.shared == nil {
		var all []*xds.Resource
		for part := range r.all() {
			all = part.appendTo(all)
		}
		var err error
		if r.published.shared, err = xds.NewShared(all...); err != nil {
			return nil, err
		}
	}
	return r.published.shared.With(own.appendTo(nil)...)
}

// removeWorkload drops a workload, and its outbound view and destinations if they are unused.
func (d *Deliverer) removeWorkload(w *workload) {
	d.unpublish(w)
	delete(w.requested.users, w)
	d.dropUnused(w.requested)
	delete(d.workloads, w.key)
	d.publisher.Remove(w.key.String())
}

// unpublish drops the resources of a workload.
func (d *Deliverer) unpublish(w *workload) {
	if r := w.outbound; r != nil {
		w.own, w.outbound = nil, nil
		delete(r.clients, w)
		d.dropUnused(r)
	}
}

// activeFindings returns the findings of a workload that has sidecars of this driver, else none. It may be nil.
func (d *Deliverer) activeFindings(w *workload) []model.Finding {
	if w == nil || !w.used {
		return nil
	}
	r := w.requested
	if err := cmp.Or(w.err, r.err); err != nil {
		failed := model.NewFinding(w.owner, model.CodeNotSupported, fmt.Sprintf(
			"driver %s cannot render workload %s: %v; sidecars keep the last good configuration", d.class.Name, w.key, err))
		failed.Severity = model.Error
		return []model.Finding{failed}
	}
	needs := slices.Clone(w.unsupported)
	for _, need := range r.unsupported {
		if !slices.ContainsFunc(needs, func(n model.Need) bool { return n.Feature == need.Feature }) {
			needs = append(needs, need)
		}
	}
	return slices.Concat(w.findings, sidecar.FindingsOf(r.findings, w.owner), model.Unsupported(d.class.Name, needs, nil))
}
