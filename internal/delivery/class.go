package delivery

import (
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// Class is a driver whose sidecars get what a Deliverer publishes.
type Class struct {
	// Name is the sidecarClass of the driver.
	Name string
	// Default makes it the driver of pods that name none. It serves every workload, so that its pods may come at any time.
	Default bool
}

// Has tells whether a pod of a class is one of this driver.
func (c Class) Has(pod string) bool { return pod == c.Name || pod == "" && c.Default }

// uses tells whether a workload whose pods have these classes has sidecars of this driver. One without pods is taken to get the default.
func (c Class) uses(classes []string) bool {
	return len(classes) == 0 && c.Default || slices.ContainsFunc(classes, c.Has)
}

// serves tells whether such a workload is published.
func (c Class) serves(classes []string) bool { return c.Default || c.uses(classes) }

// Drivers are the deliverers of all drivers, which serve side by side.
type Drivers []*Deliverer

// Deliver is a sink of the flow: each driver publishes what is not as it was.
func (all Drivers) Deliver(c engine.Change) {
	for _, d := range all {
		d.Deliver(c)
	}
}

// Findings gives what is wrong between views and the sidecars of all drivers, in canonical order.
func (all Drivers) Findings() []model.Finding {
	var out []model.Finding
	for _, d := range all {
		out = append(out, d.Findings()...)
	}
	return model.SortFindings(out)
}

// affected lists, in order, the workloads whose view changed, and those that got their first sidecar of this driver or lost their last.
func (d *Deliverer) affected(c engine.Change) []model.Key {
	out := slices.Clone(c.Views)
	for _, key := range c.Classes {
		if d.class.serves(d.mesh.Classes(key)) != (d.workloads[key] != nil) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, model.Key.Compare)
	return slices.Compact(out)
}

// updateUsed notes whether workloads have sidecars of this driver, and tells whether that changes what is to be said: a driver that no pod of a
// workload has gives no findings about it.
func (d *Deliverer) updateUsed(keys []model.Key) (changed bool) {
	for _, key := range keys {
		w := d.workloads[key]
		if w == nil {
			continue
		}
		before := w.activeFindings()
		w.used = d.class.uses(d.mesh.Classes(key))
		changed = changed || !slices.Equal(before, w.activeFindings())
	}
	return changed
}

// activeFindings are the findings that count.
func (w *workload) activeFindings() []model.Finding {
	if !w.used {
		return nil
	}
	return w.findings
}
