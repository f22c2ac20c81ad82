package delivery

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// outboundView is an outbound view with its findings. It is rendered once for all workloads that have it, and dropped
// with the last of them. The rendered resources are kept while one of the workloads is published.
type outboundView struct {
	key model.OutboundKey
	// rendered is true after the first rendering without error. mesh, source and ports are those of the last one.
	rendered bool
	mesh     model.Mesh
	source   model.OutboundView
	ports    []renderedPort

	// general are the findings of the driver that belong to no binding, findings are all of them.
	general, findings []model.Finding
	// unsupported are the needs that the driver does not support.
	unsupported []model.Need
	err         error // of the last rendering

	published *sharedResources // nil without clients
	// withheld are changes of destinations that belong to the failed version; nil if there are none.
	withheld update
	// users are the workloads that ask for the outbound view, clients those that are published with it.
	users, clients map[*workload]struct{}
}

// sharedResources are the resources of an outbound view, besides those of bindings, which are in its ports. Those of a
// driver that is no sidecar.OutboundRenderer are host names only.
type sharedResources struct {
	general, hosts resources
	destinations   []*destination // sorted
	// shared has all resources of the outbound view and its destinations. It is nil before the first client.
	shared *xds.Shared
}

// all lists the resources of the outbound view and its destinations.
func (r *outboundView) all() iter.Seq[resources] {
	return func(yield func(resources) bool) {
		if r.published == nil || !yield(r.published.general) || !yield(r.published.hosts) {
			return
		}
		for _, p := range r.ports {
			for _, of := range p.resources {
				if !yield(of) {
					return
				}
			}
		}
		for _, to := range r.published.destinations {
			if !yield(to.resources) {
				return
			}
		}
	}
}

// outboundView returns an outbound view, which may not be rendered yet.
func (d *Deliverer) outboundView(key model.OutboundKey) *outboundView {
	r := d.outbound[key]
	if r == nil {
		r = &outboundView{key: key, users: map[*workload]struct{}{}, clients: map[*workload]struct{}{}}
		d.outbound[key] = r
	}
	return r
}

// dropUnused drops the resources of an outbound view that no workload is published with, and the outbound view without
// users.
func (d *Deliverer) dropUnused(r *outboundView) {
	if len(r.clients) > 0 {
		return
	}
	if r.published != nil {
		d.removeUser(r, r.published.destinations, nil)
		r.published, r.withheld = nil, nil
		for i := range r.ports {
			r.ports[i].resources = nil
		}
	}
	if len(r.users) == 0 {
		delete(d.outbound, r.key)
	}
}

// renderOutboundViews renders changed outbound views, and adds the differences to the updates of their clients. It
// returns the workloads that need a snapshot instead of an update, and reports whether findings changed. It skips
// outbound views without users.
func (d *Deliverer) renderOutboundViews(
	keys []model.OutboundKey, pending updates,
) (snapshots []model.Key, changed bool) {
	_, shares := d.renderer.(sidecar.OutboundRenderer)
	for _, key := range keys {
		r := d.outbound[key]
		if r == nil {
			continue
		}
		findings, unsupported, err := r.findings, r.unsupported, r.err
		d.renderOutbound(r, r.published != nil, pending.of(r))
		differs := !slices.Equal(findings, r.findings) || !slices.EqualFunc(unsupported, r.unsupported, model.Need.Equal) ||
			fmt.Sprint(err) != fmt.Sprint(r.err)
		for w := range r.users {
			changed = changed || differs && w.used
			if !shares || w.err != nil {
				snapshots = append(snapshots, w.key)
			}
		}
		if r.err != nil {
			r.withhold(pending)
		}
	}
	return snapshots, changed
}

// withhold keeps the pending update until rendering succeeds.
func (r *outboundView) withhold(pending updates) {
	if r.withheld == nil {
		r.withheld = update{}
	}
	maps.Copy(r.withheld, pending[r])
	delete(pending, r)
}

// addWithheld adds the update that was withheld, unless rendering still fails. It does not replace newer changes.
func (r *outboundView) addWithheld(u update) {
	for ref, withheld := range r.withheld {
		switch _, newer := u[ref]; {
		case newer:
			delete(r.withheld, ref)
		case r.err == nil:
			u[ref] = withheld
		}
	}
	if r.err == nil {
		r.withheld = nil
	}
}

// renderOutbound renders the parts of an outbound view that changed. If it publishes, it keeps the resources, and adds
// the difference to an update; else it keeps the findings only. On error everything stays as before.
func (d *Deliverer) renderOutbound(r *outboundView, publish bool, u update) {
	mesh, now, there := d.mesh.OutboundView(r.key)
	if !there {
		return // its last users get another outbound view in the same change
	}
	d.rendered.WithLabelValues("outbound").Inc()
	next := newDifference(r, mesh, now, publish)
	err := errors.Join(d.renderGeneral(next), d.renderPorts(next), next.renderHosts())
	if err == nil && publish {
		err = d.useDestinations(next)
	}
	if err != nil {
		r.err = err
		d.log.Error("outbound view is not delivered; sidecars keep their configuration", "outbound", r.key,
			"driver", d.class.Name, "error", err)
		return
	}
	if publish {
		d.updateClients(next, u)
	}
	supports := d.renderer.Supports()
	r.unsupported = nil
	for _, need := range now.Needs() {
		if !supports[need.Feature] {
			r.unsupported = append(r.unsupported, need)
		}
	}
	r.rendered, r.mesh, r.source, r.ports, r.general, r.err = true, mesh, *now, next.ports, next.findings, nil
	r.findings = slices.Clip(r.general)
	for _, p := range r.ports {
		r.findings = slices.Concat(r.findings, slices.Concat(p.findings...))
	}
}

// updateClients adds the difference to an update, and keeps the resources and destinations.
func (d *Deliverer) updateClients(next *difference, u update) {
	before := next.before.destinations
	for _, left := range without(before, next.after.destinations) {
		u.remove(left.resources)
	}
	next.addTo(u)
	for _, entered := range without(next.after.destinations, before) {
		u.put(entered.resources)
	}
	d.removeUser(next.view, before, next.after.destinations)
	next.after.shared = next.before.shared
	next.view.published = next.after
}

// renderGeneral renders the resources that do not belong to a binding.
func (d *Deliverer) renderGeneral(next *difference) (err error) {
	driver, ok := d.renderer.(sidecar.OutboundRenderer)
	if !ok {
		return nil
	}
	var rendered []sidecar.Resource
	rendered, next.findings = driver.RenderOutbound(next.mesh, next.now)
	next.after.general, err = next.render(next.before.general, rendered)
	return err
}

// useDestinations adds the outbound view to the users of its destinations. On error the destinations stay as before. A
// resource that the outbound view or two destinations have twice is an error.
func (d *Deliverer) useDestinations(next *difference) error {
	before := next.before.destinations
	if next.first || !sameList(next.view.source.Destinations, next.now.Destinations) {
		next.after.destinations = make([]*destination, 0, len(next.now.Destinations))
		for i := range next.now.Destinations {
			next.after.destinations = append(next.after.destinations, d.destination(&next.now.Destinations[i]))
		}
	} else {
		next.after.destinations = before
	}
	entered := without(next.after.destinations, before)
	for _, to := range entered {
		to.users = append(to.users, next.view)
	}
	err := next.checkNames(entered)
	if err != nil {
		d.removeUser(next.view, entered, nil)
	}
	return err
}
