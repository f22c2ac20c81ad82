package cache

import (
	"cmp"
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Get returns the object of the first cluster, in the order of members, and the names of other clusters that have one
// with this name.
func (c *Cache) Get(
	ctx context.Context, resource schema.GroupVersionResource, namespace, name string, options GetOptions,
) (_ Object, _ []string, err error) {
	defer func() { c.count(err) }()
	k, err := c.kind(resource)
	if err != nil {
		return Object{}, nil, err
	}
	v, err := k.parse(options.ResourceVersion)
	if err != nil {
		return Object{}, nil, err
	}
	if err := k.wait(ctx, v, options.Clusters); err != nil {
		return Object{}, nil, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	found := k.owners(namespace, name, options.Clusters)
	if len(found) == 0 {
		return Object{}, nil, k.absent(name, options.Clusters)
	}
	var others []string
	for _, o := range found[1:] {
		others = append(others, o.cluster.name)
	}
	return found[0].of(k.info), others, nil
}

// Owner returns the clusters that have an object, in the order of members.
func (c *Cache) Owner(resource schema.GroupVersionResource, namespace, name string) []string {
	k, err := c.kind(resource)
	if err != nil {
		return nil
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var names []string
	for _, o := range k.owners(namespace, name, nil) {
		names = append(names, o.cluster.name)
	}
	return names
}

// owners returns the objects with a name. The mutex is held.
func (c *kindCache) owners(namespace, name string, clusters []string) []*object {
	var found []*object
	c.objects.AscendGreaterOrEqual(first(namespace, name), func(o *object) bool {
		if o.namespace != namespace || o.name != name {
			return false
		}
		if visible(clusters, o.cluster.name) {
			found = append(found, o)
		}
		return true
	})
	slices.SortFunc(found, func(a, b *object) int {
		return cmp.Compare(c.members[a.cluster.name].order, c.members[b.cluster.name].order)
	})
	return found
}

// first returns a key that is before all objects with a name.
func first(namespace, name string) *object {
	return &object{cluster: &cluster{}, namespace: namespace, name: name}
}

// Absent is the error of a request for an object that no cluster has.
func (c *Cache) Absent(resource schema.GroupVersionResource, name string, clusters []string) error {
	k, err := c.kind(resource)
	if err != nil {
		return err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.absent(name, clusters)
}

// absent returns 404, or 503 if a cluster that is not late joined a short time ago and was not listed yet: clients that
// create or clean up would act on a 404. The mutex is held.
func (c *kindCache) absent(name string, clusters []string) error {
	for _, m := range c.members {
		recent := !m.late && time.Since(m.joined) < c.options.RequestTimeout && !m.status.Expired
		if visible(clusters, m.cluster.name) && !m.synced && (recent || c.awaits(m)) {
			return unavailable("%s %s: cluster %s was not listed yet; try again", c.info.Resource.Resource, name, m.cluster.name)
		}
	}
	return apierrors.NewNotFound(c.info.Resource.GroupResource(), name)
}
