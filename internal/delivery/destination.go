package delivery

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// resources are encoded resources, each with its origins.
type resources map[xds.Ref]resource

type resource struct {
	*xds.Resource
	origins []model.Origin
}

func encode(rendered []sidecar.Resource) (resources, error) {
	out := make(resources, len(rendered))
	for _, r := range rendered {
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return nil, err
		}
		ref := xds.Ref{TypeURL: r.Type, Name: r.Name}
		if _, again := out[ref]; again {
			return nil, fmt.Errorf("two resources of type %s are named %q", r.Type, r.Name)
		}
		out[ref] = resource{e, r.Origins}
	}
	return out, nil
}

// appendTo appends the encoded resources, unsorted.
func (rs resources) appendTo(to []*xds.Resource) []*xds.Resource {
	for _, r := range rs {
		to = append(to, r.Resource)
	}
	return to
}

// update is a difference between two sets of resources.
type update struct {
	changed []*xds.Resource
	removed []xds.Ref
}

// renderDestinations renders changed destinations, and returns the resulting update of each workload. It skips
// destinations without users: addUser renders them.
func (d *Deliverer) renderDestinations(keys []model.Key) map[model.Key]*update {
	updates := map[model.Key]*update{}
	for _, key := range keys {
		to := d.destinations[key]
		if to == nil {
			continue
		}
		before := to.resources
		d.renderDestination(key, to)
		u := diffResources(before, to.resources)
		if len(u.changed)+len(u.removed) == 0 {
			continue
		}
		for user := range to.users {
			all := updates[user]
			if all == nil {
				all = &update{}
				updates[user] = all
			}
			all.changed, all.removed = append(all.changed, u.changed...), append(all.removed, u.removed...)
		}
	}
	return updates
}

// renderDestination renders the current state of a destination. On error the previous resources stay.
func (d *Deliverer) renderDestination(key model.Key, to *destination) {
	leads, there := d.mesh.ResolvedDestination(key)
	if !there {
		to.resources = nil
		return
	}
	d.rendered.WithLabelValues("destination").Inc()
	now, err := encode(slices.Concat(d.renderer.RenderDestination(leads), endpointAddresses(leads)))
	if err != nil {
		d.log.Error("destination is not delivered; sidecars keep their configuration", "destination", key, "driver",
			d.class.Name, "error", err)
		return
	}
	to.resources = now
}

func diffResources(before, now resources) update {
	var u update
	for ref, r := range now {
		if old, known := before[ref]; !known || old.Version != r.Version {
			u.changed = append(u.changed, r.Resource)
		}
	}
	for ref := range before {
		if _, still := now[ref]; !still {
			u.removed = append(u.removed, ref)
		}
	}
	return u
}

// addUser adds a workload to the users of a destination, and renders the destination for its first user.
func (d *Deliverer) addUser(key, user model.Key) {
	to := d.destinations[key]
	if to == nil {
		to = &destination{users: map[model.Key]struct{}{}}
		d.destinations[key] = to
		d.renderDestination(key, to)
	}
	to.users[user] = struct{}{}
}

// removeUser removes a workload from the users of destinations, except for those that it keeps. Both lists are sorted.
func (d *Deliverer) removeUser(user model.Key, from, keeps []model.Key) {
	for _, key := range from {
		if _, kept := slices.BinarySearchFunc(keeps, key, model.Key.Compare); kept {
			continue
		}
		to := d.destinations[key]
		if delete(to.users, user); len(to.users) == 0 {
			delete(d.destinations, key)
		}
	}
}

// findResource returns the current resource of a workload.
func (d *Deliverer) findResource(key model.Key, ref xds.Ref) (resource, bool) {
	w := d.workload(key)
	if r, own := w.own[ref]; own {
		return r, true
	}
	for _, to := range w.destinations {
		if r, ok := d.destinations[to].resources[ref]; ok {
			return r, true
		}
	}
	return resource{}, false
}
