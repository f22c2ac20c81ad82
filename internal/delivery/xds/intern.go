package xds

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// internTable holds weak references to resources, keyed by the hash of type, name and content. Workloads with the
// same destinations share the encoded bytes.
type internTable struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]weak.Pointer[Resource]
}

var internedResources = internTable{byKey: map[[sha256.Size]byte]weak.Pointer[Resource]{}}

// intern returns the resource with the hash. If there is none, encode creates it.
func (i *internTable) intern(sum [sha256.Size]byte, encode func() *Resource) *Resource {
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
func (i *internTable) removeUnused(sum [sha256.Size]byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p, ok := i.byKey[sum]; ok && p.Value() == nil {
		delete(i.byKey, sum)
	}
}
