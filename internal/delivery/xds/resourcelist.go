package xds

import "sync/atomic"

// resourceList is the memory of the changed resources of a large response. The sender uses it, and the subscription
// until the ACK. It is reused when both are done. Small responses have none: they need no reuse.
type resourceList struct {
	memory []*Resource // empty, with a capacity
	users  atomic.Int32
}

// maxCapacity limits the capacity of the memory to a multiple of the resources: a client that sends no ACK holds it.
const maxCapacity = 4

// reserve takes memory for n changed resources, unless they are few.
func (r *response) reserve(n int) {
	if n >= minReused {
		memory := resourceLists.get(n)
		if cap(memory) > maxCapacity*n {
			resourceLists.put(memory)
			memory = make([]*Resource, 0, n)
		}
		r.list = &resourceList{memory: memory}
		r.list.users.Store(2)
		r.changed = r.list.memory
	}
}

// done ends the use by the sender or by the subscription. Each calls it once. The receiver may be nil.
func (l *resourceList) done() {
	if l != nil && l.users.Add(-1) == 0 {
		resourceLists.put(l.memory[:cap(l.memory)])
	}
}
