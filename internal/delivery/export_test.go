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
	if r := d.ResourceOf(workload, ref).Value(); r != nil {
		return r.Version
	}
	return ""
}

// ResourceOf returns a published resource, which the pointer does not keep in memory.
func (d *Deliverer) ResourceOf(workload model.Key, ref xds.Ref) weak.Pointer[xds.Resource] {
	d.mu.Lock()
	defer d.mu.Unlock()
	for r := range d.resourcesOf(workload) {
		if r.ref() == ref {
			return weak.Make(r.Resource)
		}
	}
	return weak.Pointer[xds.Resource]{}
}

// DropUnused drops the resources of a workload without clients at once.
func (d *Deliverer) DropUnused(workload model.Key) { d.dropWithoutClients(workload.String()) }
