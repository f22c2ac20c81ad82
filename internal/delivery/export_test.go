package delivery

import (
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// VersionOf returns the version of a published resource, empty if there is none.
func (d *Deliverer) VersionOf(workload model.Key, ref xds.Ref) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for r := range d.resourcesOf(workload) {
		if r.ref() == ref {
			return r.Version
		}
	}
	return ""
}
