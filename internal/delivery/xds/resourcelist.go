package xds

import "sync/atomic"

// resourceList holds the changed resources of a large response. The sender uses it, and the subscription until the ACK.
// It is reused when both are done. Small responses have none: they need no reuse.
type resourceList struct {
	all   []*Resource
	users atomic.Int32
}

// newResourceList returns an empty list with room for n resources, or nil if they are few.
func newResourceList(n int) *resourceList {
	if n < minReused {
		return nil
	}
	l := &resourceList{all: resourceLists.get(n)}
	l.users.Store(2)
	return l
}

// done tells that one of both does not use the list any more. The receiver may be nil.
func (l *resourceList) done() {
	if l != nil && l.users.Add(-1) == 0 {
		resourceLists.put(l.all)
	}
}
