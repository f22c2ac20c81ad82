package xds

import "sync"

// lists reuses the lists of requests and responses. Those of a client that connects have thousands of elements.
type lists[T any] struct{ pool sync.Pool }

var (
	nameLists     lists[string]
	versionLists  lists[nameVersion]
	numberLists   lists[uint32]
	resourceLists lists[*Resource]
)

// Capacities of the lists that are reused. A smaller one costs less than the pool, and a larger one is rare.
const (
	minReused = 64
	maxReused = 1 << 14
)

// get returns an empty list with room for n elements.
func (l *lists[T]) get(n int) []T {
	if n >= minReused {
		if used, _ := l.pool.Get().(*[]T); used != nil && cap(*used) >= n {
			return *used
		}
	}
	return make([]T, 0, n)
}

// put takes a list back. The caller must not use it any more.
func (l *lists[T]) put(list []T) {
	if cap(list) < minReused || cap(list) > maxReused {
		return
	}
	clear(list) // it must not keep what it refers to
	list = list[:0]
	l.pool.Put(&list)
}
