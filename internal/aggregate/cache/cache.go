package cache

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// Cache has the objects of kinds in member clusters.
type Cache struct {
	options Options
	texts   *interner
	// integers issues versions; nil if versions are vectors.
	integers *version.Sequence
	running  sync.WaitGroup
	// expired counts the watches that ended with 410.
	expired atomic.Uint64
	// refused counts reads by the reason of their refusal.
	refused *prometheus.CounterVec

	// changing serializes changes of members and kinds. mutex guards the fields below.
	changing sync.Mutex
	mutex    sync.RWMutex
	members  []Member
	kinds    map[schema.GroupVersionResource]*kindCache
}

// New returns a cache without members and kinds.
func New(options Options) *Cache {
	c := &Cache{
		options: options.WithDefaults(), texts: newInterner(), refused: newRefusedReads(),
		kinds: map[schema.GroupVersionResource]*kindCache{},
	}
	if options.Integers {
		c.integers = version.NewSequence()
	}
	return c
}

// Close stops all requests to members.
func (c *Cache) Close() {
	if err := c.SetMembers(nil); err != nil {
		panic(err) // No members are always valid.
	}
	c.running.Wait()
}

// SetMembers replaces the members, in the order in which GET prefers them. Clusters that left, or that have another
// identity, lose their objects, and watches with these objects end with 410. A changed client keeps the objects.
func (c *Cache) SetMembers(members []Member) error {
	names := map[string]bool{}
	for _, m := range members {
		switch {
		case !version.ValidCluster(m.Name):
			return fmt.Errorf("%q cannot be the name of a cluster; use a DNS subdomain name", m.Name)
		case names[m.Name]:
			return fmt.Errorf("cluster %s is a member twice; remove one", m.Name)
		case m.Client == nil || m.Host == "":
			return fmt.Errorf("cluster %s has no client or host; set both", m.Name)
		}
		names[m.Name] = true
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mutex.Lock()
	c.members = slices.Clone(members)
	c.mutex.Unlock()
	c.reconcile()
	return nil
}

// SetKinds replaces the kinds. Objects that no scope covers any longer are removed, and watches with these objects end
// with 410. Watches of a kind that is not in the list end with 410 too.
func (c *Cache) SetKinds(kinds []Kind) error {
	wanted := map[schema.GroupVersionResource]Kind{}
	for _, k := range kinds {
		if _, twice := wanted[k.Resource]; twice {
			return fmt.Errorf("kind %s is in the list twice; merge its scopes", k.Resource)
		}
		if k.Kind == "" || k.ListKind == "" || k.Resource.Resource == "" || k.Resource.Version == "" {
			return fmt.Errorf("kind %v has no Kind, ListKind, version or resource; set all", k.Resource)
		}
		wanted[k.Resource] = k
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mutex.Lock()
	var gone []*kindCache
	for resource, old := range c.kinds {
		k, ok := wanted[resource]
		if ok && sameShape(old.info.Kind, k) {
			old.mutex.Lock()
			old.info.Scopes = k.Scopes
			old.mutex.Unlock()
			continue
		}
		gone = append(gone, old)
		delete(c.kinds, resource)
	}
	for resource, k := range wanted {
		if c.kinds[resource] == nil {
			c.kinds[resource] = newKindCache(k, c.options, c.integers)
		}
	}
	c.mutex.Unlock()
	for _, k := range gone {
		k.close()
	}
	c.reconcile()
	return nil
}

func sameShape(a, b Kind) bool {
	a.Scopes, b.Scopes = nil, nil
	return reflect.DeepEqual(a, b)
}

// reconcile starts and stops sources. The mutex changing is held.
func (c *Cache) reconcile() {
	for _, k := range c.all() {
		k.mutex.Lock()
		wanted := map[string]bool{}
		for i, m := range c.members {
			scope := slices.IndexFunc(k.info.Scopes, func(s Scope) bool { return s.Cluster == m.Name })
			if scope < 0 {
				continue
			}
			wanted[m.Name] = true
			c.ensure(k, m, k.info.Scopes[scope])
			k.members[m.Name].order = i
		}
		for name, m := range k.members {
			if !wanted[name] {
				k.leave(m)
			}
		}
		k.mutex.Unlock()
	}
}

// ensure starts the source of a member if it is new or changed. The mutex of the kind is held.
func (c *Cache) ensure(k *kindCache, m Member, scope Scope) {
	now := cluster{name: m.Name, identity: version.Identity(m.Identity)}
	now.part = now.identity
	if k.info.Namespaced {
		now.part = version.Identity(m.Identity, scope.Namespaces...)
	}
	state := k.members[m.Name]
	if state != nil {
		old := state.source
		if *state.cluster == now && slices.Equal(old.scope.Namespaces, scope.Namespaces) {
			if old.member.Client == m.Client && old.member.Host == m.Host {
				return
			}
			old.cancel()
		} else {
			k.leave(state)
			state = nil
		}
	}
	if state == nil {
		state = &memberState{cluster: &now, joined: time.Now(), late: m.Late}
		state.status = Status{Cluster: m.Name, Resource: k.info.Resource}
		k.members[m.Name] = state
	}
	ctx, cancel := context.WithCancel(context.Background())
	state.source = &source{
		kind: k, cluster: state.cluster, member: m, scope: scope, texts: c.texts, cancel: cancel,
		probe: make(chan struct{}, 1), retry: make(chan struct{}, 1),
	}
	s := state.source
	c.running.Go(func() { s.run(ctx) })
}

// Retry connects to a cluster that answers again at once, and not after the pause that follows failures.
func (c *Cache) Retry(cluster string) {
	for _, k := range c.all() {
		k.mutex.Lock()
		if m := k.members[cluster]; m != nil {
			select {
			case m.source.retry <- struct{}{}:
			default: // asked already
			}
		}
		k.mutex.Unlock()
	}
}

// leave removes a cluster from a kind. The mutex is held.
func (c *kindCache) leave(m *memberState) {
	m.source.cancel()
	c.drop(m)
	delete(c.members, m.cluster.name)
	c.notify()
}

// close removes all clusters, and ends all watches.
func (c *kindCache) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, m := range c.members {
		c.leave(m)
	}
	c.closed = true
	c.notify()
	for _, set := range c.watchers.byKey {
		for w := range set {
			w.signal()
		}
	}
}

func (c *Cache) all() []*kindCache {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	var all []*kindCache
	for _, k := range c.kinds {
		all = append(all, k)
	}
	return all
}

// Has reports whether a kind is cached.
func (c *Cache) Has(resource schema.GroupVersionResource) bool {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	return c.kinds[resource] != nil
}

// Status returns the state of each kind in each cluster.
func (c *Cache) Status() []Status {
	var all []Status
	for _, k := range c.all() {
		k.mutex.Lock()
		for _, m := range k.members {
			st := m.status
			st.Awaited, st.Late, st.Joined = k.awaits(m), m.late, m.joined
			all = append(all, st)
		}
		k.mutex.Unlock()
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Resource.String(), b.Resource.String()), cmp.Compare(a.Cluster, b.Cluster))
	})
	return all
}
