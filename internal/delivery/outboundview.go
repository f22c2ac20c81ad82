package delivery

import (
	"errors"
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// outboundView is a rendered outbound view. It is rendered once for all workloads that have it, and dropped with the
// last of them.
type outboundView struct {
	// resources are the last ones that were rendered without error, destinations the destinations besides them, sorted.
	// Resources of a driver that is no sidecar.OutboundRenderer are those of host names only.
	resources    resources
	destinations []model.Key
	// snapshot has all resources of the outbound view and its destinations; nil if one of them changed since.
	snapshot *xds.Snapshot
	// rendered is true after the first rendering without error.
	rendered bool
	// mesh, hosts and bindings are the source of the resources.
	mesh     model.Mesh
	hosts    []model.Host
	bindings map[bindingKey]*binding

	findings []model.Finding
	// unsupported are the needs that the driver does not support.
	unsupported []model.Need
	err         error // of the last rendering
	users       map[model.Key]struct{}
}

// addOutboundUser adds a workload to the users of an outbound view, and renders the outbound view for its first user.
func (d *Deliverer) addOutboundUser(key model.OutboundKey, user model.Key) *outboundView {
	r := d.outbound[key]
	if r == nil {
		r = &outboundView{users: map[model.Key]struct{}{}}
		d.outbound[key] = r
		d.renderOutbound(key, r, update{})
	}
	r.users[user] = struct{}{}
	return r
}

// removeOutboundUser removes a workload from the users of an outbound view, which may be unknown.
func (d *Deliverer) removeOutboundUser(key model.OutboundKey, user model.Key) {
	r := d.outbound[key]
	if r == nil {
		return
	}
	if delete(r.users, user); len(r.users) == 0 {
		d.removeUser(key, r.destinations, nil)
		delete(d.outbound, key)
	}
}

// renderOutboundViews renders changed outbound views, and adds the differences to the updates of their users. It
// returns the users that need a snapshot instead of an update, and reports whether findings changed. It skips outbound
// views without users.
func (d *Deliverer) renderOutboundViews(
	keys []model.OutboundKey, pending updates,
) (snapshots []model.Key, changed bool) {
	_, shares := d.renderer.(sidecar.OutboundRenderer)
	for _, key := range keys {
		r := d.outbound[key]
		if r == nil {
			continue
		}
		before := *r
		d.renderOutbound(key, r, pending.of(key))
		differs := !slices.Equal(before.findings, r.findings) || !slices.Equal(before.unsupported, r.unsupported) ||
			fmt.Sprint(before.err) != fmt.Sprint(r.err)
		for user := range r.users {
			w := d.workloads[user]
			changed = changed || differs && w.used
			if !shares || w.err != nil || before.err != nil && r.err == nil {
				snapshots = append(snapshots, user)
			}
		}
		if r.err != nil {
			delete(pending, key) // a snapshot follows when rendering succeeds
		}
	}
	return snapshots, changed
}

// renderOutbound renders the current state of an outbound view, and adds the difference to an update. On error the
// previous resources and destinations stay.
func (d *Deliverer) renderOutbound(key model.OutboundKey, r *outboundView, u update) {
	mesh, now, there := d.mesh.OutboundView(key)
	if !there {
		return // its last users get another outbound view in the same change
	}
	d.rendered.WithLabelValues("outbound").Inc()
	next := outboundView{
		rendered: true, mesh: mesh, hosts: now.Hosts, bindings: make(map[bindingKey]*binding, len(r.bindings)),
		users: r.users,
	}
	var rendered []sidecar.Resource
	if driver, ok := d.renderer.(sidecar.OutboundRenderer); ok {
		rendered, next.findings = driver.RenderOutbound(mesh, now)
	}
	var err error
	if next.resources, err = encode(rendered, r.resources); err == nil {
		err = errors.Join(d.addBindings(&next, r, now), addHosts(&next, r))
	}
	if err == nil {
		err = d.useDestinations(key, &next, r, now)
	}
	if err != nil {
		r.err = err
		d.log.Error("outbound view is not delivered; sidecars keep their configuration", "outbound", key,
			"driver", d.class.Name, "error", err)
		return
	}
	supports := d.renderer.Supports()
	for _, need := range now.Needs() {
		if !supports[need.Feature] {
			next.unsupported = append(next.unsupported, need)
		}
	}
	for _, left := range without(r.destinations, next.destinations) {
		u.remove(d.destinations[left].resources)
	}
	u.replace(r.resources, next.resources)
	for _, entered := range without(next.destinations, r.destinations) {
		u.put(d.destinations[entered].resources)
	}
	d.removeUser(key, r.destinations, next.destinations)
	*r = next
}

// addHosts adds the resources of host names.
func addHosts(next, before *outboundView) error {
	i := 0 // both lists are sorted
	for _, h := range next.hosts {
		for i < len(before.hosts) && before.hosts[i].Name < h.Name {
			i++
		}
		ref := xds.Ref{TypeURL: sidecar.HostNameType, Name: h.Name}
		if old, known := before.resources[ref]; known && i < len(before.hosts) && sameHost(before.hosts[i], h) {
			if err := next.resources.add(ref, old); err != nil {
				return err
			}
			continue
		}
		encoded, err := encode(hostResources(h), nil)
		if err != nil {
			return err
		}
		for ref, e := range encoded {
			if err := next.resources.add(ref, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// useDestinations adds the outbound view to the users of its destinations. On error the destinations stay as before. A
// resource that the outbound view or two destinations have twice is an error.
func (d *Deliverer) useDestinations(key model.OutboundKey, next, before *outboundView, now *model.OutboundView) error {
	for i := range now.Destinations {
		next.destinations = append(next.destinations, now.Destinations[i].Key)
	}
	entered := without(next.destinations, before.destinations)
	for _, to := range entered {
		d.addUser(to, key)
	}
	if len(entered) == 0 && sameNames(before.resources, next.resources) {
		return nil
	}
	names := make(resources, len(next.resources))
	for ref, r := range next.resources {
		names[ref] = r
	}
	for _, to := range next.destinations {
		for ref, r := range d.destinations[to].resources {
			if err := names.add(ref, r); err != nil {
				d.removeUser(key, entered, nil)
				return err
			}
		}
	}
	return nil
}

// sameNames reports whether both sets have resources of the same types and names.
func sameNames(a, b resources) bool {
	if len(a) != len(b) {
		return false
	}
	for ref := range a {
		if _, ok := b[ref]; !ok {
			return false
		}
	}
	return true
}
