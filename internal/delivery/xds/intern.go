package xds

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// internTable holds weak references to resources, keyed by a hash of type, name and content. Workloads with the same
// destinations share the encoded bytes.
type internTable struct {
	mu    sync.Mutex
	byKey map[internKey]weak.Pointer[Resource]
}

// internKey is the first half of a SHA-256, as in a Version.
type internKey [sha256.Size / 2]byte

var internedResources = internTable{byKey: map[internKey]weak.Pointer[Resource]{}}

// intern returns the resource with the hash. If there is none, encode creates it.
func (i *internTable) intern(sum internKey, encode func() *Resource) *Resource {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.byKey[sum].Value(); r != nil {
		return r
	}
	r := encode()
	i.byKey[sum] = weak.Make(r)
	runtime.AddCleanup(r, i.removeUnused, sum)
	return r
}

// removeUnused removes the entry of a collected resource. The resource may exist again by then.
func (i *internTable) removeUnused(sum internKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p, ok := i.byKey[sum]; ok && p.Value() == nil {
		delete(i.byKey, sum)
	}
}
