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
	key model.OutboundKey
	// resources are the last ones that were rendered without error, destinations the destinations besides them, sorted.
	// Resources of a driver that is no sidecar.OutboundRenderer are those of host names only.
	resources    resourceSet
	destinations []destinationKey
	// snapshot has all resources of the outbound view and its destinations; nil if one of them changed since.
	snapshot *xds.Snapshot
	// rendered is true after the first rendering without error.
	rendered bool
	// mesh and source are what was rendered, ports, hosts and bindings the parts of resources.
	mesh     model.Mesh
	source   model.OutboundView
	ports    resources
	hosts    resources
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
		r = &outboundView{
			key: key, resources: resourceSet{}, bindings: map[bindingKey]*binding{}, users: map[model.Key]struct{}{},
		}
		d.outbound[key] = r
		d.renderOutbound(r, update{})
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
		d.removeUser(r, r.destinations, nil)
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
		d.renderOutbound(r, pending.of(key))
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

// renderOutbound renders the parts of an outbound view that changed, and adds the difference to an update. On error the
// previous resources and destinations stay.
func (d *Deliverer) renderOutbound(r *outboundView, u update) {
	mesh, now, there := d.mesh.OutboundView(r.key)
	if !there {
		return // its last users get another outbound view in the same change
	}
	d.rendered.WithLabelValues("outbound").Inc()
	next := newDifference(mesh)
	err := errors.Join(d.renderPorts(next, r, now), d.renderBindings(next, r, now), renderHosts(next, r, now))
	if err == nil {
		err = d.useDestinations(next, r, now)
	}
	if err != nil {
		r.err = err
		d.log.Error("outbound view is not delivered; sidecars keep their configuration", "outbound", r.key,
			"driver", d.class.Name, "error", err)
		return
	}
	for _, left := range without(r.destinations, next.destinations) {
		u.remove(d.destinations[left].resources)
	}
	next.apply(r, u)
	for _, entered := range without(next.destinations, r.destinations) {
		u.put(d.destinations[entered].resources)
	}
	d.removeUser(r, r.destinations, next.destinations)
	supports := d.renderer.Supports()
	r.unsupported = nil
	for _, need := range now.Needs() {
		if !supports[need.Feature] {
			r.unsupported = append(r.unsupported, need)
		}
	}
	r.mesh, r.source, r.ports, r.hosts, r.destinations = mesh, *now, next.ports, next.hosts, next.destinations
	r.findings, r.rendered, r.snapshot, r.err = next.findings, true, nil, nil
}

// renderPorts renders the resources that do not belong to a binding.
func (d *Deliverer) renderPorts(next *difference, before *outboundView, now *model.OutboundView) error {
	driver, ok := d.renderer.(sidecar.OutboundRenderer)
	if !ok {
		return nil
	}
	rendered, findings := driver.RenderOutbound(next.mesh, now)
	var err error
	if next.ports, err = encode(rendered, before.ports); err != nil {
		return err
	}
	next.findings = findings
	return next.replace(before.ports, next.ports)
}

// renderHosts renders the resources of host names.
func renderHosts(next *difference, before *outboundView, now *model.OutboundView) error {
	if before.rendered && sameList(before.source.Hosts, now.Hosts) {
		next.hosts = before.hosts
		return nil
	}
	next.hosts = make(resources, 0, len(now.Hosts))
	old := before.source.Hosts
	for _, h := range now.Hosts { // both lists are sorted
		for len(old) > 0 && old[0].Name < h.Name {
			old = old[1:]
		}
		ref := xds.Ref{TypeURL: sidecar.HostNameType, Name: h.Name}
		if encoded, known := before.hosts.find(ref); known && len(old) > 0 && sameHost(old[0], h) {
			next.hosts = append(next.hosts, encoded)
			continue
		}
		encoded, err := encode(hostResources(h), nil)
		if err != nil {
			return err
		}
		next.hosts = append(next.hosts, encoded...)
	}
	return next.replace(before.hosts, next.hosts)
}

// sameList reports whether both lists are the same memory, as in two versions of an outbound view with the same ports.
func sameList[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// useDestinations adds the outbound view to the users of its destinations. On error the destinations stay as before. A
// resource that the outbound view or two destinations have twice is an error.
func (d *Deliverer) useDestinations(next *difference, before *outboundView, now *model.OutboundView) error {
	var entered []destinationKey
	next.destinations = before.destinations
	if !before.rendered || !sameList(before.source.Destinations, now.Destinations) {
		next.destinations = make([]destinationKey, 0, len(now.Destinations))
		for i := range now.Destinations {
			next.destinations = append(next.destinations, keyOf(&now.Destinations[i]))
		}
		entered = without(next.destinations, before.destinations)
	}
	for _, to := range entered {
		reached, _ := now.Destination(to.Name)
		d.addUser(to, reached.TLS, before)
	}
	err := next.checkNames(before)
	if err == nil && (len(entered) > 0 || next.hasNewNames(before)) {
		err = d.checkDestinations(next, before)
	}
	if err != nil {
		d.removeUser(before, entered, nil)
	}
	return err
}

// checkDestinations returns an error if a destination has a resource of the outbound view or of another destination.
func (d *Deliverer) checkDestinations(next *difference, before *outboundView) error {
	names := resourceSet{}
	for _, to := range next.destinations {
		for _, r := range d.destinations[to].resources {
			if err := names.add(r); err != nil {
				return err
			}
			if next.has(r.ref(), before) {
				return duplicate(r.ref())
			}
		}
	}
	return nil
}
