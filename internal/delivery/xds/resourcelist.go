package xds

import "sync/atomic"

// resourceList is the memory of the changed resources of a large response. The sender uses it, and the subscription
// until the ACK. It is reused when both are done. Small responses have none: they need no reuse.
type resourceList struct {
	memory []*Resource // empty, with a capacity
	users  atomic.Int32
}

// reserve takes memory for n changed resources, unless they are few.
func (r *response) reserve(n int) {
	if n >= minReused {
		r.list = &resourceList{memory: resourceLists.get(n)}
		r.list.users.Store(2)
		r.changed = r.list.memory
	}
}

// done tells that one of both does not use the list any more. The receiver may be nil.
func (l *resourceList) done() {
	if l != nil && l.users.Add(-1) == 0 {
		resourceLists.put(l.memory[:cap(l.memory)])
	}
}
