package xds

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// interned are the resources in use, by the hash of type, name and content:
// workloads that reach the same destinations share the bytes that say so.
type interned struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]weak.Pointer[Resource]
}

var shared = interned{byKey: map[[sha256.Size]byte]weak.Pointer[Resource]{}}

// intern returns the resource of the hash, made if nobody has it.
func (i *interned) intern(sum [sha256.Size]byte, encode func() *Resource) *Resource {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r := i.byKey[sum].Value(); r != nil {
		return r
	}
	r := encode()
	i.byKey[sum] = weak.Make(r)
	runtime.AddCleanup(r, i.forget, sum)
	return r
}

// forget drops what nobody has any more. It may come after the resource was made anew.
func (i *interned) forget(sum [sha256.Size]byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p, ok := i.byKey[sum]; ok && p.Value() == nil {
		delete(i.byKey, sum)
	}
}
