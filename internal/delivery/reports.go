package delivery

import (
	"slices"
	"sync"

	"anymesh.dev/anymesh/model"
)

// reports are findings of the driver itself, by subject. It is safe for concurrent use.
type reports struct {
	mu        sync.Mutex
	bySubject map[string][]model.Finding
}

// Report replaces the findings of the driver about a subject, see sidecar.ControllerContext.
func (d *Deliverer) Report(subject string, findings []model.Finding) {
	if d.reported.set(subject, model.SortFindings(findings)) {
		d.changed()
	}
}

// set reports whether the findings are new.
func (r *reports) set(subject string, findings []model.Finding) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Equal(r.bySubject[subject], findings) {
		return false
	}
	if r.bySubject == nil {
		r.bySubject = map[string][]model.Finding{}
	}
	if r.bySubject[subject] = findings; len(findings) == 0 {
		delete(r.bySubject, subject)
	}
	return true
}

// all returns all findings.
func (r *reports) all() []model.Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []model.Finding
	for _, findings := range r.bySubject {
		out = append(out, findings...)
	}
	return out
}
