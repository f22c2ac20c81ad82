package delivery

import (
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Class identifies the driver for which a Deliverer publishes.
type Class struct {
	// Name is the sidecarClass of the driver.
	Name string
	// Others are further sidecarClasses, whose pods are served as those of Name.
	Others []string
	// Default is true for the driver of pods without a sidecarClass. Its snapshots cover every workload, with or
	// without pods.
	Default bool
	// LogLevel is the log level of sidecars of meshes that set none. If both are empty, it is not delivered.
	LogLevel string
}

// Has reports whether a pod with the given sidecarClass belongs to this driver.
func (c Class) Has(pod string) bool {
	return pod == c.Name || pod == "" && c.Default || slices.Contains(c.Others, pod)
}

// uses reports whether a workload whose pods have these classes has sidecars of this driver. A workload without pods
// uses the default.
func (c Class) uses(classes []string) bool {
	return len(classes) == 0 && c.Default || slices.ContainsFunc(classes, c.Has)
}

// Serves reports whether a workload whose pods have these classes is published.
func (c Class) Serves(classes []string) bool { return c.Default || c.uses(classes) }

// Drivers are the deliverers of all drivers.
type Drivers []*Deliverer

// Deliver is an engine.Sink: each deliverer publishes the change.
func (all Drivers) Deliver(c engine.Change) {
	for _, d := range all {
		d.Deliver(c)
	}
}

// Findings returns the delivery findings of all drivers, in canonical order.
func (all Drivers) Findings() []model.Finding {
	var out []model.Finding
	for _, d := range all {
		out = append(out, d.Findings()...)
	}
	return model.SortFindings(out)
}

// affected lists, sorted, the given workloads, those whose view changed, and those that gained their first or lost
// their last sidecar of this driver.
func (d *Deliverer) affected(c engine.Change, more []model.Key) []model.Key {
	out := slices.Concat(c.Views, more)
	for _, key := range c.Classes {
		if d.class.Serves(d.mesh.Classes(key)) != (d.workloads[key] != nil) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, model.Key.Compare)
	return slices.Compact(out)
}

// updateUsed updates which workloads have sidecars of this driver, and reports whether that changes findings: a driver
// without pods of a workload reports no findings about it.
func (d *Deliverer) updateUsed(keys []model.Key) (changed bool) {
	for _, key := range keys {
		w := d.workloads[key]
		if w == nil {
			continue
		}
		before := d.activeFindings(w)
		w.used = d.class.uses(d.mesh.Classes(key))
		changed = changed || !slices.Equal(before, d.activeFindings(w))
	}
	return changed
}
