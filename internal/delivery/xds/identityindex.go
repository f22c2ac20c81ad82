package xds

import (
	"slices"
	"sync"
)

// identityIndex finds the streams of an identity, so that the cost of a disconnect does not depend on the number of
// clients.
type identityIndex struct {
	mu      sync.Mutex
	streams map[string][]*stream
}

// add adds a stream that has joined its group.
func (x *identityIndex) add(st *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.streams[st.identity] = append(x.streams[st.identity], st)
}

func (x *identityIndex) remove(st *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	left := slices.DeleteFunc(x.streams[st.identity], func(other *stream) bool { return other == st })
	if x.streams[st.identity] = left; len(left) == 0 {
		delete(x.streams, st.identity)
	}
}

func (x *identityIndex) of(identity string) []*stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.streams[identity])
}
