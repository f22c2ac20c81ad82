package delivery

import (
	"cmp"
	"maps"
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

// destination is a rendered destination. It is rendered once for all outbound views with clients that have it, and
// dropped with the last of them.
type destination struct {
	key       destinationKey
	tls       *model.ClientTLS
	resources resources
	users     []*outboundView
}

func (to *destination) compare(o *destination) int { return to.key.compare(o.key) }

// renderDestinations renders changed destinations, and adds the differences to the updates of their users. It skips
// destinations without users.
func (d *Deliverer) renderDestinations(keys []model.Key, pending updates) {
	for _, key := range d.withTLS(keys) {
		to := d.destinations[key]
		if to == nil {
			continue
		}
		before := to.resources
		d.renderDestination(to)
		difference := update{}
		difference.replace(before, to.resources)
		for _, user := range to.users {
			maps.Copy(pending.of(user), difference)
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
func (d *Deliverer) renderDestination(to *destination) {
	leads, there := d.mesh.ResolvedDestination(to.key.Key)
	if !there {
		to.resources = nil
		return
	}
	leads.Destination.TLS = to.tls
	d.rendered.WithLabelValues("destination").Inc()
	now, err := encode(slices.Concat(d.renderer.RenderDestination(leads), endpointAddresses(leads)), nil)
	if err != nil {
		d.log.Error("destination is not delivered; sidecars keep their configuration", "destination", to.key.Key,
			"driver", d.class.Name, "error", err)
		return
	}
	to.resources = now
}

// destination returns a destination of an outbound view, and renders it if it is new.
func (d *Deliverer) destination(reached *model.Destination) *destination {
	key := keyOf(reached)
	to := d.destinations[key]
	if to == nil {
		to = &destination{key: key, tls: reached.TLS}
		d.destinations[key] = to
		if to.tls != nil {
			d.secured[key.Key] = append(d.secured[key.Key], key)
		}
		d.renderDestination(to)
	}
	return to
}

// removeUser removes an outbound view from the users of destinations, except for those that it keeps. Both lists are
// sorted.
func (d *Deliverer) removeUser(user *outboundView, from, keeps []*destination) {
	for _, to := range without(from, keeps) {
		to.users = slices.DeleteFunc(to.users, func(r *outboundView) bool { return r == user })
		if len(to.users) == 0 {
			delete(d.destinations, to.key)
			if to.tls != nil {
				d.dropSecured(to.key)
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

// without returns the destinations that are not in the other list. Both lists are sorted.
func without(all, other []*destination) []*destination {
	if slices.Equal(all, other) {
		return nil
	}
	var out []*destination
	for _, to := range all {
		if _, both := slices.BinarySearchFunc(other, to, (*destination).compare); !both {
			out = append(out, to)
		}
	}
	return out
}
