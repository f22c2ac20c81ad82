package delivery

import (
	"cmp"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// destinationKey identifies a rendered destination. Clients with different TLS have different ones.
type destinationKey struct {
	model.Key
	tls string // the hash of a model.ClientTLS; empty without TLS
}

// keyOf returns the key of a destination of an outbound view.
func keyOf(d *model.Destination) destinationKey {
	if d.TLS == nil {
		return destinationKey{Key: d.Key}
	}
	return destinationKey{d.Key, model.Hash(d.TLS)}
}

func (k destinationKey) compare(o destinationKey) int {
	return cmp.Or(k.Key.Compare(o.Key), strings.Compare(k.tls, o.tls))
}

// destination is a rendered destination. It is rendered once for all outbound views that have it, and dropped with the
// last of them.
type destination struct {
	resources resources
	tls       *model.ClientTLS
	users     map[*outboundView]struct{}
}

// renderDestinations renders changed destinations, and adds the differences to the updates of their users. It skips
// destinations without users: addUser renders them.
func (d *Deliverer) renderDestinations(keys []model.Key, pending updates) {
	for _, key := range d.withTLS(keys) {
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

// withTLS returns the keys of destinations, as they are reached without TLS and with any.
func (d *Deliverer) withTLS(keys []model.Key) []destinationKey {
	out := make([]destinationKey, 0, len(keys))
	for _, key := range keys {
		out = append(out, destinationKey{Key: key})
		out = append(out, d.secured[key]...)
	}
	return out
}

// renderDestination renders the current state of a destination. On error the previous resources stay.
func (d *Deliverer) renderDestination(key destinationKey, to *destination) {
	leads, there := d.mesh.ResolvedDestination(key.Key)
	if !there {
		to.resources = nil
		return
	}
	leads.Destination.TLS = to.tls
	d.rendered.WithLabelValues("destination").Inc()
	now, err := encode(slices.Concat(d.renderer.RenderDestination(leads), endpointAddresses(leads)), nil)
	if err != nil {
		d.log.Error("destination is not delivered; sidecars keep their configuration", "destination", key.Key, "driver",
			d.class.Name, "error", err)
		return
	}
	to.resources = now
}

// addUser adds an outbound view to the users of a destination, and renders the destination for its first user.
func (d *Deliverer) addUser(key destinationKey, tls *model.ClientTLS, user *outboundView) {
	to := d.destinations[key]
	if to == nil {
		to = &destination{tls: tls, users: map[*outboundView]struct{}{}}
		d.destinations[key] = to
		if tls != nil {
			d.secured[key.Key] = append(d.secured[key.Key], key)
		}
		d.renderDestination(key, to)
	}
	to.users[user] = struct{}{}
}

// removeUser removes an outbound view from the users of destinations, except for those that it keeps. Both lists are
// sorted.
func (d *Deliverer) removeUser(user *outboundView, from, keeps []destinationKey) {
	for _, key := range without(from, keeps) {
		to := d.destinations[key]
		if delete(to.users, user); len(to.users) == 0 {
			delete(d.destinations, key)
			if key.tls != "" {
				d.dropSecured(key)
			}
		}
	}
}

func (d *Deliverer) dropSecured(key destinationKey) {
	left := slices.DeleteFunc(d.secured[key.Key], func(k destinationKey) bool { return k == key })
	if d.secured[key.Key] = left; len(left) == 0 {
		delete(d.secured, key.Key)
	}
}

// without returns the keys that are not in the other list. Both lists are sorted.
func without(keys, other []destinationKey) []destinationKey {
	if slices.Equal(keys, other) {
		return nil
	}
	var out []destinationKey
	for _, key := range keys {
		if _, both := slices.BinarySearchFunc(other, key, destinationKey.compare); !both {
			out = append(out, key)
		}
	}
	return out
}
