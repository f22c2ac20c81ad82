package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// expectationLimit bounds the wait for the event of a write.
const expectationLimit = 30 * time.Second

// expectations are the writes whose events informers have not delivered, so that no object is written twice. They are
// safe for concurrent use. The events of a write may come before the answer to it.
type expectations struct {
	mu    sync.Mutex
	byKey map[ObjectKey]expectation
}

// expectation is a write. The version is empty until the API server answers.
type expectation struct {
	version, content string
	until            time.Time
	// seen is the version of the last event that came before the answer, and isDeleted whether the object was deleted
	// before it.
	seen      string
	isDeleted bool
}

func newExpectations() *expectations { return &expectations{byKey: map[ObjectKey]expectation{}} }

// has reports whether the event of a write with this content has to come.
func (x *expectations) has(key ObjectKey, content string, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byKey[key]
	return ok && e.content == content && now.Before(e.until)
}

// begin records a write before it is sent.
func (x *expectations) begin(key ObjectKey, content string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byKey[key] = expectation{content: content, until: now.Add(expectationLimit)}
}

// written records the version that the API server answered. There is no expectation if the event of the write, or a
// deletion, came before.
func (x *expectations) written(key ObjectKey, version string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byKey[key]
	if !ok {
		return
	}
	if e.isDeleted || e.seen != "" && reaches(e.seen, version) {
		delete(x.byKey, key)
		return
	}
	e.version = version
	x.byKey[key] = e
}

// cancel forgets a write that failed or changed nothing.
func (x *expectations) cancel(key ObjectKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byKey, key)
}

// observe forgets the write of an object that an informer has as it was written, or deleted. It reports whether there
// was one.
func (x *expectations) observe(o *unstructured.Unstructured, isDeleted bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := KeyOf(o)
	e, ok := x.byKey[key]
	switch {
	case !ok:
	case e.version == "":
		e.seen, e.isDeleted = o.GetResourceVersion(), e.isDeleted || isDeleted
		x.byKey[key] = e
	case isDeleted || reaches(o.GetResourceVersion(), e.version):
		delete(x.byKey, key)
	}
	return ok
}

// reaches reports whether a version is that of a write or a later one. Versions that cannot be compared count as later.
func reaches(seen, written string) bool {
	order, err := resourceversion.CompareResourceVersion(seen, written)
	return err != nil || order >= 0
}
