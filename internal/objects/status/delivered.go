package status

import (
	"slices"
	"time"

	"anymesh.dev/anymesh/model"
)

// minDeliveredInterval is the least time between two looks at all findings of the delivery.
const minDeliveredInterval = 100 * time.Millisecond

// Wake tells that the findings of the delivery may have changed; it never blocks.
func (w *Writer) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// updateDelivered takes the findings of the delivery as they are now, and gives the objects about which they are others.
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

// findings gives all that there is to say about an object, in canonical order.
func (w *Writer) findings(ref model.ObjectRef) []model.Finding {
	w.mu.Lock()
	delivered := w.delivered[ref]
	w.mu.Unlock()
	return model.SortFindings(slices.Concat(w.Mesh.Findings(ref), delivered))
}
