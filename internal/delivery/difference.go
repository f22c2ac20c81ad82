package delivery

import (
	"reflect"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// difference is what changes in a rendered outbound view. It is applied when all of it is rendered without error.
type difference struct {
	view *outboundView
	mesh model.Mesh
	now  *model.OutboundView
	// publish is true if resources are rendered, and not only findings; first, if all of them are new.
	publish, first bool
	sameMesh       bool // as in the version before

	before, after *sharedResources
	ports         []renderedPort
	findings      []model.Finding // that belong to no binding

	// removed are the resources of the previous version of changed parts, added those of the new version. Without clients
	// these have names only.
	removed, added map[xds.Ref]*xds.Resource
}

func newDifference(r *outboundView, mesh model.Mesh, now *model.OutboundView, publish bool) *difference {
	c := &difference{
		view: r, mesh: mesh, now: now, publish: publish, before: r.published, after: &sharedResources{},
		removed: map[xds.Ref]*xds.Resource{}, added: map[xds.Ref]*xds.Resource{},
	}
	c.first = !r.rendered || publish && r.published == nil
	c.sameMesh = !c.first && reflect.DeepEqual(r.mesh, mesh)
	if c.before == nil {
		c.before = &sharedResources{}
	}
	return c
}

// render replaces the resources of a part by rendered ones. Two resources of one type and name are an error. Without
// clients, it checks the names only.
func (c *difference) render(before resources, rendered []sidecar.Resource) (resources, error) {
	if !c.publish {
		return nil, addNames(c.added, rendered)
	}
	now, err := encode(rendered, before)
	if err != nil {
		return nil, err
	}
	return now, c.replace(before, now)
}

// replace replaces the resources of a part.
func (c *difference) replace(before, now resources) error {
	c.remove(before)
	for _, r := range now {
		if _, again := c.added[r.ref()]; again {
			return duplicate(r.ref())
		}
		c.added[r.ref()] = r.Resource
	}
	return nil
}

// remove removes the resources of parts.
func (c *difference) remove(parts ...resources) {
	for _, part := range parts {
		for _, r := range part {
			c.removed[r.ref()] = r.Resource
		}
	}
}

// checkNames returns an error if two resources of the next version, or of its destinations, have the same type and
// name. Only names that are new can be there twice; most changes have none.
func (c *difference) checkNames(entered []*destination) error {
	found := map[xds.Ref]bool{} // new names; true once they are found
	for ref := range c.added {
		if _, again := c.removed[ref]; !again {
			found[ref] = false
		}
	}
	for _, to := range entered {
		for _, r := range to.resources {
			found[r.ref()] = false
		}
	}
	if len(found) == 0 {
		return nil
	}
	for all := range (&outboundView{ports: c.ports, published: c.after}).all() {
		for _, r := range all {
			again, is := found[r.ref()]
			if again {
				return duplicate(r.ref())
			}
			if is {
				found[r.ref()] = true
			}
		}
	}
	return nil
}

// addTo adds the changed resources to an update.
func (c *difference) addTo(u update) {
	for ref := range c.removed {
		if _, again := c.added[ref]; !again {
			u[ref] = nil
		}
	}
	for ref, now := range c.added {
		if old := c.removed[ref]; old == nil || old.Version != now.Version {
			u[ref] = now
		}
	}
}
