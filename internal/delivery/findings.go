package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// rejection is a version of a resource that sidecars of a workload rejected.
type rejection struct {
	workload model.Key
	ref      xds.Ref
	version  string
}

// rejections maps each rejection to the error messages of connected sidecars, by identity.
type rejections map[rejection]map[string]string

// add records the message of a sidecar, and reports whether the set of messages changed.
func (all rejections) add(r rejection, identity, message string) bool {
	before := all.messages(r)
	if all[r] == nil {
		all[r] = map[string]string{}
	}
	all[r][identity] = message
	return !slices.Equal(before, all.messages(r))
}

// drop removes the matching rejections of a sidecar, and reports whether the set of messages changed.
func (all rejections) drop(identity string, matches func(rejection) bool) bool {
	news := false
	for r, by := range all {
		if _, told := by[identity]; !told || !matches(r) {
			continue
		}
		before := all.messages(r)
		if delete(by, identity); len(by) == 0 {
			delete(all, r)
		}
		news = news || !slices.Equal(before, all.messages(r))
	}
	return news
}

// messages returns the distinct error messages about a resource, sorted.
func (all rejections) messages(r rejection) []string {
	return slices.Compact(slices.Sorted(maps.Values(all[r])))
}

// Findings returns the delivery findings, in canonical order.
func (d *Deliverer) Findings() []model.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []model.Finding
	for _, w := range d.workloads {
		out = append(out, w.activeFindings()...)
	}
	for r := range d.rejected {
		for _, message := range d.rejected.messages(r) {
			for _, origin := range d.originsOf(r) {
				out = append(out, model.NewFinding(origin, model.CodeRejected,
					fmt.Sprintf("the %s sidecars of workload %s reject %s: %s", d.class.Name, r.workload, r.ref.Name, message)))
			}
		}
	}
	return model.SortFindings(out)
}

// originsOf returns the current origins of a resource.
func (d *Deliverer) originsOf(r rejection) []model.Origin {
	if found, known := d.findResource(r.workload, r.ref); known && len(found.origins) > 0 {
		return found.origins
	}
	return []model.Origin{d.workload(r.workload).owner}
}

// Nacked implements xds.Observer: it adds a finding about each origin of the rejected resources.
func (d *Deliverer) Nacked(key, identity, typeURL string, names []string, message string) {
	d.log.Warn("a sidecar rejected configuration", "driver", d.class.Name, "workload", key, "client", identity,
		"type", typeURL, "resources", names, "error", message)
	d.mu.Lock()
	workload, news := parseKey(key), false
	for _, name := range names {
		ref := xds.Ref{TypeURL: typeURL, Name: name}
		if r, known := d.findResource(workload, ref); known {
			news = d.rejected.add(rejection{workload, ref, r.Version}, identity, message) || news
		}
	}
	d.mu.Unlock()
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
	d.mu.Lock()
	news := d.rejected.drop(identity, matches)
	d.mu.Unlock()
	if news {
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
	before := len(d.rejected)
	for r := range d.rejected {
		if found, known := d.findResource(r.workload, r.ref); !known || found.Version != r.version {
			delete(d.rejected, r)
		}
	}
	return len(d.rejected) != before
}
