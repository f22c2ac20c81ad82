package status

import (
	"slices"
	"time"

	"anymesh.dev/anymesh/model"
)

// minDeliveredInterval is the minimum time between two comparisons of the delivery findings.
const minDeliveredInterval = 100 * time.Millisecond

// Wake signals that the delivery findings may have changed; it never blocks.
func (w *Writer) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// updateDelivered reads the current delivery findings, and returns the objects whose findings changed.
func (w *Writer) updateDelivered() (changed []model.ObjectRef) {
	now := map[model.ObjectRef][]model.Finding{}
	for _, f := range w.Delivered() {
		now[f.Object] = append(now[f.Object], f)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, findings := range now {
		if !slices.Equal(findings, w.delivered[ref]) {
			changed = append(changed, ref)
		}
	}
	for ref := range w.delivered {
		if _, still := now[ref]; !still {
			changed = append(changed, ref)
		}
	}
	w.delivered = now
	return changed
}

// findings returns all findings about an object, in canonical order.
func (w *Writer) findings(ref model.ObjectRef) []model.Finding {
	w.mu.Lock()
	delivered := w.delivered[ref]
	w.mu.Unlock()
	return model.SortFindings(slices.Concat(w.Mesh.Findings(ref), delivered))
}
