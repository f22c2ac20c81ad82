package delivery

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// workload is the rendered state of a view.
type workload struct {
	// own are the last published resources that only the workload has, outbound its last published outbound view.
	own      resources
	outbound model.OutboundKey
	// requested is the outbound view that the workload asks for. It differs from outbound after an error.
	requested model.OutboundKey
	// owner is the origin of resources that have no other.
	owner    model.Origin
	findings []model.Finding
	// unsupported are the needs of the view without its outbound view that the driver does not support.
	unsupported []model.Need
	err         error // of the last rendering
	// used is true if a pod of the workload has the driver.
	used bool
}

// syncWorkload publishes the current state of a workload, or removes it, and reports whether its findings changed.
func (d *Deliverer) syncWorkload(key model.Key, since time.Time) (changed bool) {
	before := d.activeFindings(key)
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
	d.workloads[key].used = d.class.uses(classes)
	return !slices.Equal(before, d.activeFindings(key))
}

// publish renders a view and publishes its snapshot. On error the previous snapshot stays, and the workload gets a
// finding.
func (d *Deliverer) publish(key model.Key, view *model.View, since time.Time) error {
	before := d.workload(key)
	w := &workload{owner: view.Workload.Origin}
	w.requested, _ = d.mesh.OutboundKeyOf(key)
	w.outbound = w.requested
	r := d.addOutboundUser(w.requested, key)
	d.rendered.WithLabelValues("view").Inc()
	own := *view
	own.OutboundView = model.OutboundView{}
	source := view
	if _, shares := d.renderer.(sidecar.OutboundRenderer); shares {
		source = &own
	}
	rendered, findings := d.renderer.Render(source)
	var snapshot *xds.Snapshot
	if w.own, w.err = encode(rendered, before.own); w.err == nil && !r.rendered {
		w.err = r.err
	}
	if w.err == nil {
		snapshot, w.err = d.snapshot(w.own, r)
	}
	if w.err != nil {
		w.own, w.outbound = before.own, before.outbound
	}
	w.findings = findings
	supports := d.renderer.Supports()
	for _, need := range own.Needs() {
		if !supports[need.Feature] {
			w.unsupported = append(w.unsupported, need)
		}
	}
	d.workloads[key] = w
	for _, left := range []model.OutboundKey{before.outbound, before.requested} {
		if left != w.outbound && left != w.requested {
			d.removeOutboundUser(left, key)
		}
	}
	if w.err != nil {
		return fmt.Errorf("workload %s: %w", key, w.err)
	}
	d.publisher.Publish(key.String(), snapshot, since)
	return nil
}

// publishUpdates publishes the updates of outbound views to their users, except for workloads that got a snapshot. The
// list is sorted.
func (d *Deliverer) publishUpdates(pending updates, except []model.Key, since time.Time) {
	type lists struct {
		changed []*xds.Resource
		removed []xds.Ref
	}
	byWorkload := map[model.Key]lists{}
	for key, u := range pending {
		r := d.outbound[key]
		if r == nil || len(u) == 0 {
			continue
		}
		var all lists
		all.changed, all.removed = u.lists()
		for user := range r.users {
			_, done := slices.BinarySearchFunc(except, user, model.Key.Compare)
			if !done && d.workloads[user].outbound == key {
				byWorkload[user] = all
			}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(byWorkload), model.Key.Compare) {
		d.publisher.Update(key.String(), byWorkload[key].changed, byWorkload[key].removed, since)
	}
}

// snapshot returns all resources of a workload.
func (d *Deliverer) snapshot(own resources, r *outboundView) (*xds.Snapshot, error) {
	if r.snapshot == nil {
		all := make([]*xds.Resource, 0, len(r.resources)+4*len(r.destinations))
		for _, one := range r.resources {
			all = append(all, one.Resource)
		}
		for _, to := range r.destinations {
			all = d.destinations[to].resources.appendTo(all)
		}
		var err error
		if r.snapshot, err = xds.NewSnapshot(all...); err != nil {
			return nil, err
		}
	}
	return r.snapshot.With(own.appendTo(nil)...)
}

// workload returns the rendered state of a workload; it is empty for a new one.
func (d *Deliverer) workload(key model.Key) *workload {
	if w := d.workloads[key]; w != nil {
		return w
	}
	return &workload{}
}

// removeWorkload drops a workload, and its outbound view and destinations if they are unused.
func (d *Deliverer) removeWorkload(key model.Key) {
	w := d.workload(key)
	d.removeOutboundUser(w.outbound, key)
	d.removeOutboundUser(w.requested, key)
	delete(d.workloads, key)
}

// activeFindings returns the findings of a workload that has sidecars of this driver, else none.
func (d *Deliverer) activeFindings(key model.Key) []model.Finding {
	w := d.workload(key)
	if !w.used {
		return nil
	}
	r := d.outbound[w.requested]
	err := w.err
	if err == nil {
		err = r.err
	}
	if err != nil {
		failed := model.NewFinding(w.owner, model.CodeNotSupported, fmt.Sprintf(
			"driver %s cannot render workload %s: %v; sidecars keep the last good configuration", d.class.Name, key, err))
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

// findResource returns the current resource of a workload.
func (d *Deliverer) findResource(key model.Key, ref xds.Ref) (resource, bool) {
	w := d.workload(key)
	if r, own := w.own.find(ref); own {
		return r, true
	}
	shared := d.outbound[w.outbound]
	if shared == nil {
		return resource{}, false
	}
	if r, ok := shared.resources[ref]; ok {
		return r, true
	}
	for _, to := range shared.destinations {
		if r, ok := d.destinations[to].resources.find(ref); ok {
			return r, true
		}
	}
	return resource{}, false
}
