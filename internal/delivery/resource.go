package delivery

import (
	"bytes"
	"fmt"

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

// encode encodes rendered resources. It takes resources that did not change from before, which may be nil.
func encode(rendered []sidecar.Resource, before resources) (resources, error) {
	out := make(resources, max(len(rendered), len(before)))
	for _, r := range rendered {
		ref := xds.Ref{TypeURL: r.Type, Name: r.Name}
		if old, known := before[ref]; known && bytes.Equal(old.Body(), r.Body) {
			if err := out.add(ref, resource{old.Resource, r.Origins}); err != nil {
				return nil, err
			}
			continue
		}
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return nil, err
		}
		if err := out.add(ref, resource{e, r.Origins}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// add adds a resource. Two resources of one type and name are an error.
func (rs resources) add(ref xds.Ref, r resource) error {
	if _, again := rs[ref]; again {
		return duplicate(ref)
	}
	rs[ref] = r
	return nil
}

func duplicate(ref xds.Ref) error {
	return fmt.Errorf("two resources of type %s are named %q", ref.TypeURL, ref.Name)
}

// appendTo appends the encoded resources, unsorted.
func (rs resources) appendTo(to []*xds.Resource) []*xds.Resource {
	for _, r := range rs {
		to = append(to, r.Resource)
	}
	return to
}

// update is a difference between two sets of resources. A removed resource is nil.
type update map[xds.Ref]*xds.Resource

// remove removes the resources from the set.
func (u update) remove(rs resources) {
	for ref := range rs {
		u[ref] = nil
	}
}

// put adds the resources to the set.
func (u update) put(rs resources) {
	for ref, r := range rs {
		u[ref] = r.Resource
	}
}

// replace adds the difference between two sets.
func (u update) replace(before, now resources) {
	for ref := range before {
		if _, still := now[ref]; !still {
			u[ref] = nil
		}
	}
	for ref, r := range now {
		if old, known := before[ref]; !known || old.Version != r.Version {
			u[ref] = r.Resource
		}
	}
}

// lists returns the changed and the removed resources, unsorted.
func (u update) lists() (changed []*xds.Resource, removed []xds.Ref) {
	for ref, r := range u {
		if r == nil {
			removed = append(removed, ref)
		} else {
			changed = append(changed, r)
		}
	}
	return changed, removed
}

// updates are the pending updates of the users of each outbound view.
type updates map[model.OutboundKey]update

// of returns the update of an outbound view.
func (all updates) of(key model.OutboundKey) update {
	if all[key] == nil {
		all[key] = update{}
	}
	return all[key]
}
