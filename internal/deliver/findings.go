package deliver

import (
	"fmt"

	"anymesh.dev/anymesh/internal/xds"
	"anymesh.dev/anymesh/model"
)

// refusal names a version of a resource that sidecars of a workload refuse.
type refusal struct {
	workload string
	ref      xds.Ref
	version  string
}

// Findings gives what is wrong between views and sidecars, in canonical order.
func (d *Deliverer) Findings() []model.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []model.Finding
	for _, r := range d.rendered {
		out = append(out, r.findings...)
	}
	for r, message := range d.refused {
		for _, origin := range d.originsOf(r) {
			out = append(out, model.NewFinding(origin, model.CodeRejected,
				fmt.Sprintf("the sidecars of workload %s refuse %s: %s", r.workload, r.ref.Name, message)))
		}
	}
	return model.SortFindings(out)
}

// originsOf gives the fields that a resource comes from, as they are now.
func (d *Deliverer) originsOf(r refusal) []model.Origin {
	rendered := d.rendered[r.workload]
	if origins := rendered.resources[r.ref].origins; len(origins) > 0 {
		return origins
	}
	return []model.Origin{rendered.owner}
}

// Rejected notes that a sidecar refused resources: a finding about each field that they come from.
func (d *Deliverer) Rejected(key, typeURL string, names []string, message string) {
	d.log.Warn("a sidecar refused configuration", "workload", key, "type", typeURL, "resources", names, "error", message)
	d.mu.Lock()
	news := false
	for _, name := range names {
		ref := xds.Ref{TypeURL: typeURL, Name: name}
		resource, known := d.rendered[key].resources[ref]
		r := refusal{key, ref, resource.version}
		if before, told := d.refused[r]; known && (!told || before != message) {
			d.refused[r] = message
			news = true
		}
	}
	d.mu.Unlock()
	if news {
		d.changed()
	}
}

// Acked takes back what was said about the resources of a type that a sidecar has now accepted.
func (d *Deliverer) Acked(key, typeURL, _ string) {
	d.mu.Lock()
	before := len(d.refused)
	for r := range d.refused {
		if r.workload == key && r.ref.TypeURL == typeURL {
			delete(d.refused, r)
		}
	}
	mended := len(d.refused) != before
	d.mu.Unlock()
	if mended {
		d.changed()
	}
}

// forgetRefusals takes back what was said about resources that are not published any more: no sidecar may be left to accept another.
func (d *Deliverer) forgetRefusals() {
	for r := range d.refused {
		if resource, known := d.rendered[r.workload].resources[r.ref]; !known || resource.version != r.version {
			delete(d.refused, r)
		}
	}
}
