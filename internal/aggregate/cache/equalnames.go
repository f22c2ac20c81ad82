package cache

import "k8s.io/apimachinery/pkg/watch"

// findOther sets other after the event that a change deletes an object, and reports whether there is one: the object of
// another cluster with the same namespace and name, as the client has to know it. An object that changed since then has
// an event of its own later, which is enough.
func (w *Watch) findOther(c change) bool {
	if w.options.ByCluster {
		return false
	}
	k := w.kind
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, o := range k.owners(c.new.namespace, c.new.name, w.options.Clusters) {
		if o.cluster == c.new.cluster || !w.selector.matches(o) {
			continue
		}
		position, has := w.positions[o.cluster]
		if c.integer == 0 && (!has || o.version > position) || o.integer > c.integer {
			return false
		}
		e := w.event(watch.Added, Object{k.info, o, o.version, c.integer})
		w.other = &e
		if c.integer > 0 && o.again == 0 {
			o.again = c.integer
		}
		return true
	}
	return false
}
