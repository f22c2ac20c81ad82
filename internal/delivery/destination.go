package delivery

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// destination is a rendered destination. It is rendered once for all outbound views that have it, and dropped with the
// last of them.
type destination struct {
	resources resources
	users     map[*outboundView]struct{}
}

// renderDestinations renders changed destinations, and adds the differences to the updates of their users. It skips
// destinations without users: addUser renders them.
func (d *Deliverer) renderDestinations(keys []model.Key, pending updates) {
	for _, key := range keys {
		to := d.destinations[key]
		if to == nil {
			continue
		}
		before := to.resources
		d.renderDestination(key, to)
		difference := update{}
		difference.replace(before, to.resources)
		for user := range to.users {
			user.snapshot = nil
			all := pending.of(user.key)
			for ref, r := range difference {
				all[ref] = r
			}
		}
	}
}

// renderDestination renders the current state of a destination. On error the previous resources stay.
func (d *Deliverer) renderDestination(key model.Key, to *destination) {
	leads, there := d.mesh.ResolvedDestination(key)
	if !there {
		to.resources = nil
		return
	}
	d.rendered.WithLabelValues("destination").Inc()
	now, err := encode(slices.Concat(d.renderer.RenderDestination(leads), endpointAddresses(leads)), nil)
	if err != nil {
		d.log.Error("destination is not delivered; sidecars keep their configuration", "destination", key, "driver",
			d.class.Name, "error", err)
		return
	}
	to.resources = now
}

// addUser adds an outbound view to the users of a destination, and renders the destination for its first user.
func (d *Deliverer) addUser(key model.Key, user *outboundView) *destination {
	to := d.destinations[key]
	if to == nil {
		to = &destination{users: map[*outboundView]struct{}{}}
		d.destinations[key] = to
		d.renderDestination(key, to)
	}
	to.users[user] = struct{}{}
	return to
}

// removeUser removes an outbound view from the users of destinations, except for those that it keeps. Both lists are
// sorted.
func (d *Deliverer) removeUser(user *outboundView, from, keeps []model.Key) {
	for _, key := range without(from, keeps) {
		to := d.destinations[key]
		if delete(to.users, user); len(to.users) == 0 {
			delete(d.destinations, key)
		}
	}
}

// without returns the keys that are not in the other list. Both lists are sorted.
func without(keys, other []model.Key) []model.Key {
	if slices.Equal(keys, other) {
		return nil
	}
	var out []model.Key
	for _, key := range keys {
		if _, both := slices.BinarySearchFunc(other, key, model.Key.Compare); !both {
			out = append(out, key)
		}
	}
	return out
}
