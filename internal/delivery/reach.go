package delivery

import (
	"errors"
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// reach is a rendered reach. It is rendered once for all workloads that have it, and dropped with the last of them.
type reach struct {
	// resources are the last ones that were rendered without error, destinations the destinations besides them, sorted.
	// Resources of a driver that is no sidecar.ReachRenderer are those of host names only.
	resources    resources
	destinations []model.Key
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

// addReachUser adds a workload to the users of a reach, and renders the reach for its first user.
func (d *Deliverer) addReachUser(key model.ReachKey, user model.Key) *reach {
	r := d.reaches[key]
	if r == nil {
		r = &reach{users: map[model.Key]struct{}{}}
		d.reaches[key] = r
		d.renderReach(key, r, update{})
	}
	r.users[user] = struct{}{}
	return r
}

// removeReachUser removes a workload from the users of a reach, which may be unknown.
func (d *Deliverer) removeReachUser(key model.ReachKey, user model.Key) {
	r := d.reaches[key]
	if r == nil {
		return
	}
	if delete(r.users, user); len(r.users) == 0 {
		d.removeUser(key, r.destinations, nil)
		delete(d.reaches, key)
	}
}

// renderReaches renders changed reaches, and adds the differences to the updates of their users. It returns the users
// that need a snapshot instead of an update, and reports whether findings changed. It skips reaches without users.
func (d *Deliverer) renderReaches(keys []model.ReachKey, pending updates) (snapshots []model.Key, changed bool) {
	_, shares := d.renderer.(sidecar.ReachRenderer)
	for _, key := range keys {
		r := d.reaches[key]
		if r == nil {
			continue
		}
		before := *r
		d.renderReach(key, r, pending.of(key))
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

// renderReach renders the current state of a reach, and adds the difference to an update. On error the previous
// resources and destinations stay.
func (d *Deliverer) renderReach(key model.ReachKey, r *reach, u update) {
	mesh, now, there := d.mesh.Reach(key)
	if !there {
		return // its last users get another reach in the same change
	}
	d.rendered.WithLabelValues("reach").Inc()
	next := reach{rendered: true, mesh: mesh, hosts: now.Hosts, bindings: map[bindingKey]*binding{}, users: r.users}
	var rendered []sidecar.Resource
	if driver, ok := d.renderer.(sidecar.ReachRenderer); ok {
		rendered, next.findings = driver.RenderReach(mesh, now)
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
		d.log.Error("reach is not delivered; sidecars keep their configuration", "reach", key, "driver", d.class.Name,
			"error", err)
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
func addHosts(next, before *reach) error {
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

// useDestinations adds the reach to the users of its destinations. On error the destinations stay as before. A resource
// that the reach or two destinations have twice is an error.
func (d *Deliverer) useDestinations(key model.ReachKey, next, before *reach, now *model.Reach) error {
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
