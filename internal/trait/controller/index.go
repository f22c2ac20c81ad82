package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aspect says which objects of a kind a plan reads.
type aspect int

const (
	kindExists  aspect = iota // whether the cluster has the kind
	allObjects                // all objects of a namespace, or of the cluster
	oneObject                 // the object of a name
	ownedBy                   // the objects with an owner
	selectedBy                // the objects that a selector matches
	informed                  // nothing; the kind has an informer
	aspectCount               // the number of aspects
)

// read is something that a plan reads.
type read struct {
	kind      schema.GroupVersionKind
	aspect    aspect
	namespace string
	// what is the name, the UID of the owner, or the text of the selector.
	what string
}

// index maps what plans read to their owners. It is safe for concurrent use.
type index struct {
	mu sync.Mutex
	// readers are the owners by what their plans read; reads the reverse, with the number of the evaluation.
	readers map[read]map[ObjectKey]bool
	reads   map[ObjectKey]map[read]int
	// users counts the reads of a kind besides kindExists, by owner.
	users map[schema.GroupVersionKind]map[ObjectKey]int
	// selectors are the selectors of a kind and namespace.
	selectors map[read]map[read]labels.Selector
}

func newIndex() *index {
	return &index{
		readers: map[read]map[ObjectKey]bool{}, reads: map[ObjectKey]map[read]int{},
		users:     map[schema.GroupVersionKind]map[ObjectKey]int{},
		selectors: map[read]map[read]labels.Selector{},
	}
}

// add records that an evaluation of an owner reads something. It must be called before the read, so that no change is
// lost.
func (x *index) add(owner ObjectKey, evaluation int, r read, selector labels.Selector) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reads[owner] == nil {
		x.reads[owner] = map[read]int{}
	}
	if _, known := x.reads[owner][r]; !known {
		if x.readers[r] == nil {
			x.readers[r] = map[ObjectKey]bool{}
		}
		x.readers[r][owner] = true
		if r.aspect != kindExists {
			if x.users[r.kind] == nil {
				x.users[r.kind] = map[ObjectKey]int{}
			}
			x.users[r.kind][owner]++
		}
		if r.aspect == selectedBy {
			place := read{kind: r.kind, namespace: r.namespace}
			if x.selectors[place] == nil {
				x.selectors[place] = map[read]labels.Selector{}
			}
			x.selectors[place][r] = selector
		}
	}
	x.reads[owner][r] = evaluation
}

// keep removes what an owner read in other evaluations, and returns the kinds that nothing reads any more. Evaluation 0
// removes all.
func (x *index) keep(owner ObjectKey, evaluation int) (unused []schema.GroupVersionKind) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for r, last := range x.reads[owner] {
		if last == evaluation {
			continue
		}
		delete(x.reads[owner], r)
		if delete(x.readers[r], owner); len(x.readers[r]) == 0 {
			delete(x.readers, r)
			if place := (read{kind: r.kind, namespace: r.namespace}); r.aspect == selectedBy {
				if delete(x.selectors[place], r); len(x.selectors[place]) == 0 {
					delete(x.selectors, place)
				}
			}
		}
		if r.aspect == kindExists {
			continue
		}
		if x.users[r.kind][owner]--; x.users[r.kind][owner] == 0 {
			if delete(x.users[r.kind], owner); len(x.users[r.kind]) == 0 {
				delete(x.users, r.kind)
				unused = append(unused, r.kind)
			}
		}
	}
	if len(x.reads[owner]) == 0 {
		delete(x.reads, owner)
	}
	return unused
}

// isUsed reports whether a plan reads a kind.
func (x *index) isUsed(kind schema.GroupVersionKind) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.users[kind]) > 0
}

// usersOf returns the owners whose plans read a kind.
func (x *index) usersOf(kind schema.GroupVersionKind) []ObjectKey {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []ObjectKey
	for owner := range x.users[kind] {
		out = append(out, owner)
	}
	return out
}

// askedFor returns the owners whose plans depend on whether the cluster has a kind.
func (x *index) askedFor(kind schema.GroupVersionKind) []ObjectKey {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []ObjectKey
	for owner := range x.readers[read{kind: kind, aspect: kindExists}] {
		out = append(out, owner)
	}
	return out
}

// readersOf returns the owners whose plans read an object, before or after a change. Either may be nil.
func (x *index) readersOf(kind schema.GroupVersionKind, before, after *unstructured.Unstructured) map[ObjectKey]bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := map[ObjectKey]bool{}
	collect := func(r read) {
		for owner := range x.readers[r] {
			out[owner] = true
		}
	}
	for _, o := range []*unstructured.Unstructured{before, after} {
		if o == nil {
			continue
		}
		namespace := o.GetNamespace()
		collect(read{kind, allObjects, "", ""})
		if namespace != "" {
			collect(read{kind, allObjects, namespace, ""})
		}
		collect(read{kind, oneObject, namespace, o.GetName()})
		for _, owner := range o.GetOwnerReferences() {
			collect(read{kind, ownedBy, namespace, string(owner.UID)})
		}
		for r, selector := range x.selectors[read{kind: kind, namespace: namespace}] {
			if selector.Matches(labels.Set(o.GetLabels())) {
				collect(r)
			}
		}
	}
	return out
}
