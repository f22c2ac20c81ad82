package delivery

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// resource is an encoded resource with its origins.
type resource struct {
	*xds.Resource
	origins []model.Origin
}

func (r resource) ref() xds.Ref { return xds.Ref{TypeURL: r.TypeURL, Name: r.Name} }

// resources are sorted by type and name, each of which is there once. There are many small lists, for which a map would
// take several times the memory.
type resources []resource

// encode encodes rendered resources. It takes resources that did not change from before, which may be nil. Two
// resources of one type and name are an error.
func encode(rendered []sidecar.Resource, before resources) (resources, error) {
	out := make(resources, 0, len(rendered))
	for _, r := range rendered {
		if old, known := before.find(xds.Ref{TypeURL: r.Type, Name: r.Name}); known && bytes.Equal(old.Body(), r.Body) {
			out = append(out, resource{old.Resource, r.Origins})
			continue
		}
		e, err := xds.EncodedResource(r.Type, r.Name, r.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, resource{e, r.Origins})
	}
	slices.SortFunc(out, func(a, b resource) int { return a.compare(b.ref()) })
	for i := 1; i < len(out); i++ {
		if out[i-1].ref() == out[i].ref() {
			return nil, duplicate(out[i].ref())
		}
	}
	return out, nil
}

func (r resource) compare(ref xds.Ref) int {
	return cmp.Or(strings.Compare(r.TypeURL, ref.TypeURL), strings.Compare(r.Name, ref.Name))
}

// find returns the resource of a type and name.
func (rs resources) find(ref xds.Ref) (resource, bool) {
	i, found := slices.BinarySearchFunc(rs, ref, resource.compare)
	if !found {
		return resource{}, false
	}
	return rs[i], true
}

// addNames adds the names of rendered resources to a set. Two resources of one type and name are an error.
func addNames(to map[xds.Ref]*xds.Resource, rendered []sidecar.Resource) error {
	for _, r := range rendered {
		ref := xds.Ref{TypeURL: r.Type, Name: r.Name}
		if _, again := to[ref]; again {
			return duplicate(ref)
		}
		if err := xds.CheckName(r.Type, r.Name); err != nil {
			return err
		}
		to[ref] = nil
	}
	return nil
}

func duplicate(ref xds.Ref) error {
	return fmt.Errorf("two resources of type %s are named %q", ref.TypeURL, ref.Name)
}

// appendTo appends the encoded resources.
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
	for _, r := range rs {
		u[r.ref()] = nil
	}
}

// put adds the resources to the set.
func (u update) put(rs resources) {
	for _, r := range rs {
		u[r.ref()] = r.Resource
	}
}

// replace adds the difference between two sets.
func (u update) replace(before, now resources) {
	for _, r := range before {
		if _, still := now.find(r.ref()); !still {
			u[r.ref()] = nil
		}
	}
	for _, r := range now {
		if old, known := before.find(r.ref()); !known || old.Version != r.Version {
			u[r.ref()] = r.Resource
		}
	}
}

// published returns the update with unsorted lists.
func (u update) published() *xds.Update {
	out := &xds.Update{}
	for ref, r := range u {
		if r == nil {
			out.Removed = append(out.Removed, ref)
		} else {
			out.Changed = append(out.Changed, r)
		}
	}
	return out
}

// updates are the pending updates of the clients of each outbound view.
type updates map[*outboundView]update

// of returns the update of an outbound view.
func (all updates) of(r *outboundView) update {
	if all[r] == nil {
		all[r] = update{}
	}
	return all[r]
}
