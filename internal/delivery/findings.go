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
	out := d.reported.all()
	for _, w := range d.workloads {
		out = append(out, d.activeFindings(w)...)
	}
	rejected := d.rejected.all()
	for r, found := range d.publishedOf(slices.Collect(maps.Keys(rejected))) {
		for _, message := range rejected[r] {
			for _, origin := range sidecar.OriginsOf(found.origins, d.workloads[r.workload].owner) {
				out = append(out, d.findingOf(r, origin, message))
			}
		}
	}
	return model.SortFindings(out)
}

// findingOf returns the finding about a rejection. That of the certificate of a Secret is by the agent, which names the
// Secret.
func (d *Deliverer) findingOf(r rejection, origin model.Origin, message string) model.Finding {
	if r.ref.TypeURL == sidecar.CertificateSourceType {
		return model.NewFinding(origin, model.CodeNoCertificate, message)
	}
	return model.NewFinding(origin, model.CodeRejected,
		fmt.Sprintf("the %s sidecars of workload %s reject %s: %s", d.class.Name, r.workload, r.ref.Name, message))
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

// Acked implements xds.Observer: it removes this sidecar's rejections of the type, except those that it still has.
// Rejections by other sidecars stay.
func (d *Deliverer) Acked(key, identity, typeURL, version string, rejected map[string]string) {
	if typeURL == sidecar.AuthorityType {
		d.authority.confirmed.add(version, identity)
	}
	d.clearRejections(identity, func(r rejection) bool {
		version, still := rejected[r.ref.Name]
		return r.workload.String() == key && r.ref.TypeURL == typeURL && (!still || version != r.version)
	})
}

// Disconnected implements xds.Observer: it removes the rejections of this sidecar. If it was the last client of its
// workload, the resources are dropped after a while.
func (d *Deliverer) Disconnected(key, identity string) {
	d.authority.confirmed.remove(identity)
	d.clearRejections(identity, func(r rejection) bool { return r.workload.String() == key })
	d.dropLater(key)
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
	all := d.rejected.list()
	published := d.publishedOf(all)
	return d.rejected.remove(slices.DeleteFunc(all, func(r rejection) bool {
		_, current := published[r]
		return current
	}))
}

// publishedOf returns the rejected resources that are published in the rejected version. It looks at all resources of
// their workloads once.
func (d *Deliverer) publishedOf(rejected []rejection) map[rejection]resource {
	out, of := map[rejection]resource{}, map[model.Key]map[rejection]struct{}{}
	for _, r := range rejected {
		if of[r.workload] == nil {
			of[r.workload] = map[rejection]struct{}{}
		}
		of[r.workload][r] = struct{}{}
	}
	for key, all := range of {
		for found := range d.resourcesOf(key) {
			r := rejection{key, found.ref(), found.Version}
			if _, is := all[r]; is {
				out[r] = found
			}
		}
	}
	return out
}
