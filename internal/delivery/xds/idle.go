package xds

import "slices"

// idle holds the resources of a key without clients. Tables would take several times the memory, and most keys have
// clients at one replica of the control plane only.
type idle struct {
	snapshot *Snapshot // nil before the first one
	// updates are what changed since the snapshot; nil is a removed resource.
	updates map[Ref]*Resource
}

// maxUpdates is how many updates are kept beside a snapshot of the given size: more are merged with the snapshot.
func maxUpdates(size int) int { return 64 + size/8 }

// update changes and removes resources. A resource in both lists is changed.
func (i *idle) update(changed []*Resource, removed []Ref) {
	if i.updates == nil {
		i.updates = make(map[Ref]*Resource, len(changed)+len(removed))
	}
	for _, ref := range removed {
		i.updates[ref] = nil
	}
	for _, r := range changed {
		i.updates[Ref{r.TypeURL, r.Name}] = r
	}
	if len(i.updates) > maxUpdates(i.snapshot.size()) {
		i.snapshot, i.updates = i.merged(), nil
	}
}

// merged returns a snapshot with the updates.
func (i *idle) merged() *Snapshot {
	if i.snapshot == nil || len(i.updates) == 0 {
		return i.snapshot
	}
	kept := slices.DeleteFunc(i.snapshot.Resources(), func(r *Resource) bool {
		_, updated := i.updates[Ref{r.TypeURL, r.Name}]
		return updated
	})
	var changed []*Resource
	for _, r := range i.updates {
		if r != nil {
			changed = append(changed, r)
		}
	}
	slices.SortFunc(changed, byTypeAndName)
	return &Snapshot{resources: merge(kept, changed)}
}

// activate fills the tables for the first client. It requires the group's lock.
func (g *group) activate() {
	if g.idle == nil {
		return
	}
	g.state = state{}
	if s := g.idle.merged(); s != nil {
		g.state.fill(s.Resources())
	}
	g.idle = nil
}
