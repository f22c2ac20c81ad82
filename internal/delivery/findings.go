package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// rejection names a version of a resource that sidecars of a workload refuse.
type rejection struct {
	workload model.Key
	ref      xds.Ref
	version  string
}

// rejections are what connected sidecars refuse: who, and in which words.
type rejections map[rejection]map[string]string

// add says whether anything is told that was not told before.
func (all rejections) add(r rejection, identity, message string) bool {
	before := all.messages(r)
	if all[r] == nil {
		all[r] = map[string]string{}
	}
	all[r][identity] = message
	return !slices.Equal(before, all.messages(r))
}

// drop takes back what a sidecar said about what matches, and says whether nobody else says it.
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

// messages are the different words in which a resource is refused, in canonical order.
func (all rejections) messages(r rejection) []string {
	return slices.Compact(slices.Sorted(maps.Values(all[r])))
}

// Findings gives what is wrong between views and sidecars, in canonical order.
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
					fmt.Sprintf("the %s sidecars of workload %s refuse %s: %s", d.class.Name, r.workload, r.ref.Name, message)))
			}
		}
	}
	return model.SortFindings(out)
}

// originsOf gives the fields that a resource comes from, as they are now.
func (d *Deliverer) originsOf(r rejection) []model.Origin {
	if found, known := d.findResource(r.workload, r.ref); known && len(found.origins) > 0 {
		return found.origins
	}
	return []model.Origin{d.workload(r.workload).owner}
}

// Nacked implements xds.Observer: a finding about each field that the refused resources come from.
func (d *Deliverer) Nacked(key, identity, typeURL string, names []string, message string) {
	d.log.Warn("a sidecar refused configuration", "driver", d.class.Name, "workload", key, "client", identity,
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

// Acked implements xds.Observer: it takes back what this sidecar refused of the type. What others refuse stays.
func (d *Deliverer) Acked(key, identity, typeURL, _ string) {
	d.clearRejections(identity, func(r rejection) bool { return r.workload.String() == key && r.ref.TypeURL == typeURL })
}

// Disconnected implements xds.Observer: a sidecar that is not there refuses nothing.
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

// parseKey finds a workload by the key under which it is published.
func parseKey(key string) model.Key {
	mesh, name, _ := strings.Cut(key, "/")
	return model.Key{Mesh: mesh, Name: name}
}

// pruneRejections takes back what was said about resources that are not published any more, and tells whether there was any: no sidecar
// may be left to accept another.
func (d *Deliverer) pruneRejections() bool {
	before := len(d.rejected)
	for r := range d.rejected {
		if found, known := d.findResource(r.workload, r.ref); !known || found.Version != r.version {
			delete(d.rejected, r)
		}
	}
	return len(d.rejected) != before
}
