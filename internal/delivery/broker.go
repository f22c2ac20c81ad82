package delivery

import (
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// notice returns what the subscribers of the driver have to know of a change. Call it before the change is delivered:
// workloads that leave the driver are part of it.
func (d *Deliverer) notice(c engine.Change) sidecar.Changes {
	if c.Since.IsZero() {
		return sidecar.Changes{All: true}
	}
	if !d.broker.Subscribed() {
		return sidecar.Changes{}
	}
	keys := slices.Concat(c.Views, c.Classes)
	for _, key := range c.OutboundViews {
		if r := d.outbound[key]; r != nil {
			for w := range r.users {
				keys = append(keys, w.key)
			}
		}
	}
	return sidecar.Changes{
		Workloads: slices.DeleteFunc(keys, func(key model.Key) bool {
			return d.workloads[key] == nil && !d.class.Serves(d.mesh.Classes(key))
		}),
		Destinations: c.Destinations,
	}
}

// notify passes a notice to the subscribers.
func (d *Deliverer) notify(c sidecar.Changes) {
	if c.All || d.broker.Subscribed() {
		d.broker.Publish(c)
	}
}
