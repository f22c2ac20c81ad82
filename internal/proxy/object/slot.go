package object

import "sync/atomic"

// Slot is the place of an object with a name. Those who refer to the name keep the slot: the object may be missing,
// come later, or be replaced. Get costs one atomic load.
type Slot[T any] struct {
	Name  string
	value atomic.Pointer[T]
	uses  int // references to the name; guarded by the store
}

// Get returns the object; nil if there is none of this name.
func (s *Slot[T]) Get() *T {
	if s == nil {
		return nil
	}
	return s.value.Load()
}

// table holds the slots of one class of objects.
type table[T any] map[string]*Slot[T]

// use returns the slot of a name for a new reference.
func (t table[T]) use(name string) *Slot[T] {
	s := t[name]
	if s == nil {
		s = &Slot[T]{Name: name}
		t[name] = s
	}
	s.uses++
	return s
}

// release ends a reference.
func (t table[T]) release(s *Slot[T]) {
	if s == nil {
		return
	}
	s.uses--
	t.forget(s)
}

func (t table[T]) forget(s *Slot[T]) {
	if s.uses == 0 && s.Get() == nil {
		delete(t, s.Name)
	}
}

// set puts an object into its slot, and returns the one that was there.
func (t table[T]) set(name string, v *T) (old *T) {
	s := t.use(name)
	s.uses--
	return s.value.Swap(v)
}

// unset removes the object of a name, which references may still use.
func (t table[T]) unset(name string) {
	if s := t[name]; s != nil {
		s.value.Store(nil)
		t.forget(s)
	}
}

// get returns the object of a name; nil if there is none.
func (t table[T]) get(name string) *T { return t[name].Get() }
