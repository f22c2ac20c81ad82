package delivery

import (
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// difference is what changes in a rendered outbound view. It is applied when all of it is rendered without error.
type difference struct {
	mesh         model.Mesh
	ports, hosts resources
	// bindings are the new and changed ones; nil removes one. newBindings is the number of new ones.
	bindings     map[bindingKey]*binding
	newBindings  int
	destinations []destinationKey
	findings     []model.Finding

	// removed are the resources of the previous version of changed parts, added those of the new version.
	removed map[xds.Ref]struct{}
	added   resourceSet
}

func newDifference(mesh model.Mesh) *difference {
	return &difference{
		mesh: mesh, bindings: map[bindingKey]*binding{}, removed: map[xds.Ref]struct{}{}, added: resourceSet{},
	}
}

// replace replaces the resources of a part. Two resources of one type and name are an error.
func (c *difference) replace(before, now resources) error {
	for _, r := range before {
		c.removed[r.ref()] = struct{}{}
	}
	for _, r := range now {
		if err := c.added.add(r); err != nil {
			return err
		}
	}
	return nil
}

// checkNames returns an error if an added resource has the name of one that stays.
func (c *difference) checkNames(r *outboundView) error {
	for ref := range c.added {
		if _, goes := c.removed[ref]; goes {
			continue
		}
		if _, stays := r.resources[ref]; stays {
			return duplicate(ref)
		}
	}
	return nil
}

// hasNewNames reports whether a resource is added, instead of replaced.
func (c *difference) hasNewNames(r *outboundView) bool {
	for ref := range c.added {
		if _, known := r.resources[ref]; !known {
			return true
		}
	}
	return false
}

// has reports whether the outbound view has a resource after the change.
func (c *difference) has(ref xds.Ref, r *outboundView) bool {
	if _, added := c.added[ref]; added {
		return true
	}
	_, goes := c.removed[ref]
	_, known := r.resources[ref]
	return known && !goes
}

// apply changes the resources and the bindings of the outbound view, and adds the changed resources to an update.
func (c *difference) apply(r *outboundView, u update) {
	for ref := range c.removed {
		if _, again := c.added[ref]; !again {
			delete(r.resources, ref)
			u[ref] = nil
		}
	}
	for ref, now := range c.added {
		if old, known := r.resources[ref]; !known || old.Version != now.Version {
			u[ref] = now.Resource
		}
		r.resources[ref] = now
	}
	for key, b := range c.bindings {
		if b == nil {
			delete(r.bindings, key)
		} else {
			r.bindings[key] = b
		}
	}
}
