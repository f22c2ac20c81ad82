package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Findings returns the delivery findings, in canonical order.
func (d *Deliverer) Findings() []model.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []model.Finding
	for key := range d.workloads {
		out = append(out, d.activeFindings(key)...)
	}
	for r, messages := range d.rejected.all() {
		for _, message := range messages {
			for _, origin := range d.originsOf(r) {
				out = append(out, model.NewFinding(origin, model.CodeRejected,
					fmt.Sprintf("the %s sidecars of workload %s reject %s: %s", d.class.Name, r.workload, r.ref.Name, message)))
			}
		}
	}
	return model.SortFindings(out)
}

// originsOf returns the current origins of a rejected resource; none if it is no longer published in this version.
func (d *Deliverer) originsOf(r rejection) []model.Origin {
	found, known := d.findResource(r.workload, r.ref)
	if !known || found.Version != r.version {
		return nil
	}
	return sidecar.OriginsOf(found.origins, d.workload(r.workload).owner)
}

// Nacked implements xds.Observer: it adds a finding about each origin of the rejected resources.
func (d *Deliverer) Nacked(key, identity, typeURL string, rejected map[string]string, message string) {
	d.log.Warn("a sidecar rejected configuration", "driver", d.class.Name, "workload", key, "client", identity,
		"type", typeURL, "resources", slices.Sorted(maps.Keys(rejected)), "error", message)
	workload, news := parseKey(key), false
	for name, version := range rejected {
		r := rejection{workload, xds.Ref{TypeURL: typeURL, Name: name}, version}
		news = d.rejected.add(r, identity, message) || news
	}
	if news {
		d.changed()
	}
}

// Acked implements xds.Observer: it removes this sidecar's rejections of the type. Rejections by other sidecars stay.
func (d *Deliverer) Acked(key, identity, typeURL, _ string) {
	d.clearRejections(identity, func(r rejection) bool {
		return r.workload.String() == key && r.ref.TypeURL == typeURL
	})
}

// Disconnected implements xds.Observer: it removes the rejections of this sidecar.
func (d *Deliverer) Disconnected(key, identity string) {
	d.clearRejections(identity, func(r rejection) bool { return r.workload.String() == key })
}

func (d *Deliverer) clearRejections(identity string, matches func(rejection) bool) {
	if d.rejected.drop(identity, matches) {
		d.changed()
	}
}

// parseKey parses the key under which a workload is published.
func parseKey(key string) model.Key {
	mesh, name, _ := strings.Cut(key, "/")
	return model.Key{Mesh: mesh, Name: name}
}

// pruneRejections removes rejections of resources or versions that are no longer published, and reports whether there
// were any. A sidecar that disconnected never sends an ACK for the new version.
func (d *Deliverer) pruneRejections() bool {
	return d.rejected.prune(func(r rejection) bool {
		found, known := d.findResource(r.workload, r.ref)
		return known && found.Version == r.version
	})
}
