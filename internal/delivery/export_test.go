package delivery

import (
	"weak"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// KeepUnused is the time for which the resources of a workload without clients are kept.
const KeepUnused = keepUnused

// VersionOf returns the version of a published resource, empty if there is none.
func (d *Deliverer) VersionOf(workload model.Key, ref xds.Ref) string {
	if r := d.ResourcesOf(workload)[ref].Value(); r != nil {
		return r.Version
	}
	return ""
}

// ResourcesOf returns the published resources of a workload, which the pointers do not keep in memory.
func (d *Deliverer) ResourcesOf(workload model.Key) map[xds.Ref]weak.Pointer[xds.Resource] {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[xds.Ref]weak.Pointer[xds.Resource]{}
	for r := range d.resourcesOf(workload) {
		out[r.ref()] = weak.Make(r.Resource)
	}
	return out
}

// DropUnused drops the resources of a workload without clients at once.
func (d *Deliverer) DropUnused(workload model.Key) { d.dropWithoutClients(workload.String()) }
