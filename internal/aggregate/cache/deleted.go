package cache

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RecreateTime is how long a deleted object can be created again in its cluster.
const RecreateTime = time.Minute

// MaxDeleted limits the deleted objects of a kind that can be created again.
const MaxDeleted = 10_000

// deletion is an object that a cluster had.
type deletion struct {
	namespace, name string
	cluster         *cluster
	at              time.Time
}

// deletions are the last deletions of a kind, from the oldest. The mutex of the kind guards them.
type deletions []deletion

// add adds a deletion, and removes those that are too old.
func (d *deletions) add(o *object, now time.Time) {
	*d = append(*d, deletion{o.namespace, o.name, o.cluster, now})
	old := max(len(*d)-MaxDeleted, 0)
	for now.Sub((*d)[old].at) > RecreateTime {
		old++
	}
	*d = (*d)[old:]
}

// Deleted returns the clusters where an object was deleted a short time ago, and does not exist: it may be created
// there again. The names are ordered.
func (c *Cache) Deleted(resource schema.GroupVersionResource, namespace, name string, clusters []string) []string {
	k, err := c.kind(resource)
	if err != nil {
		return nil
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var out []string
	for _, d := range k.deleted {
		if d.namespace != namespace || d.name != name || time.Since(d.at) > RecreateTime ||
			!visible(clusters, d.cluster.name) {
			continue
		}
		m := k.members[d.cluster.name]
		if m != nil && m.cluster == d.cluster && k.find(d.cluster, namespace, name) == nil {
			out = append(out, d.cluster.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
