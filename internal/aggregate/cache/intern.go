package cache

import (
	"bytes"
	"hash/maphash"
	"runtime"
	"sync"
	"weak"
)

// blob is text that many objects share.
type blob struct{ text []byte }

// interner finds equal texts. It does not keep them alive.
type interner struct {
	seed  maphash.Seed
	mutex sync.Mutex
	blobs map[uint64]weak.Pointer[blob]
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), blobs: map[uint64]weak.Pointer[blob]{}}
}

// blob returns the shared copy of a text.
func (n *interner) blob(text []byte) *blob {
	hash := maphash.Bytes(n.seed, text)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if shared := n.blobs[hash].Value(); shared != nil && bytes.Equal(shared.text, text) {
		return shared
	}
	b := &blob{text: bytes.Clone(text)}
	n.blobs[hash] = weak.Make(b)
	runtime.AddCleanup(b, n.remove, hash)
	return b
}

// remove forgets a text that no object has. The entry may be of a newer text with the same hash.
func (n *interner) remove(hash uint64) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.blobs[hash].Value() == nil {
		delete(n.blobs, hash)
	}
}
