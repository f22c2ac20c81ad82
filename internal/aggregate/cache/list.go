package cache

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// List is a list of objects at a version, in the order of namespace, name and cluster.
type List struct {
	kind *kindInfo
	// ResourceVersion is the global version; Continue is the token for the next page.
	ResourceVersion, Continue string
	// Remaining is the number of items on later pages; nil if unknown.
	Remaining *int64
	// Missing are clusters whose objects are not in the list because the cluster was never listed.
	Missing []string
	// Stale are clusters that are not connected, with the time when the connection was lost.
	Stale []Stale

	snapshot *snapshot
	selector *selector
	after    *object
	limit    int64
}

// Stale is a cluster whose objects are those of a time in the past.
type Stale struct {
	Cluster string
	Since   time.Time
}

// staleAfter is how long a cluster is not connected before its objects are stale: watches end, and begin again, at any
// time.
const staleAfter = 2 * time.Second

// stale returns the clusters that are stale, by name.
func (c *kindCache) stale(clusters []string) []Stale {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var out []Stale
	for name, m := range c.members {
		since := m.status.DisconnectedSince
		if m.synced && !since.IsZero() && time.Since(since) >= staleAfter && visible(clusters, name) {
			out = append(out, Stale{name, since})
		}
	}
	slices.SortFunc(out, func(a, b Stale) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out
}

// List returns the objects that the options select.
func (c *Cache) List(ctx context.Context, resource schema.GroupVersionResource, o ListOptions) (_ *List, err error) {
	defer func() { c.count(err) }()
	k, err := c.kind(resource)
	if err != nil {
		return nil, err
	}
	selector, err := k.info.newSelector(o.Selection)
	if err != nil {
		return nil, err
	}
	l := &List{kind: k.info, selector: selector, limit: o.Limit}
	var remaining int64
	if o.Continue != "" {
		if o.ResourceVersion != "" || o.ResourceVersionMatch != "" {
			return nil, apierrors.NewBadRequest("resourceVersion and resourceVersionMatch must be empty with continue")
		}
		t, err := k.parseToken(o.Continue)
		if err != nil {
			return nil, err
		}
		if l.snapshot, err = k.exact(t.version, o.Clusters); err != nil {
			return nil, err
		}
		l.after, remaining = t.after(), t.Remaining
	} else if l.snapshot, err = k.state(ctx, o); err != nil {
		return nil, err
	}
	if o.ResourceVersion == version.Any && o.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
		l.limit = 0 // kube-apiserver does so, and informers rely on it.
	}
	l.ResourceVersion = l.snapshot.vector.String()
	l.Missing, l.Stale = l.snapshot.missing, k.stale(o.Clusters)
	if l.limit > 0 {
		l.page(k, remaining)
	}
	return l, nil
}

// state returns the snapshot that the resourceVersion of a list asks for.
func (c *kindCache) state(ctx context.Context, o ListOptions) (*snapshot, error) {
	v, err := c.parse(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	match := o.ResourceVersionMatch
	switch match {
	case "":
		if !v.IsAny() && o.Limit > 0 {
			match = metav1.ResourceVersionMatchExact
		}
	case metav1.ResourceVersionMatchExact:
		if v.IsAny() {
			return nil, apierrors.NewBadRequest("resourceVersionMatch: Exact requires a resourceVersion other than 0")
		}
	case metav1.ResourceVersionMatchNotOlderThan:
		if o.ResourceVersion == "" {
			return nil, apierrors.NewBadRequest("resourceVersionMatch: is forbidden unless resourceVersion is provided")
		}
	default:
		return nil, apierrors.NewBadRequest("resourceVersionMatch: must be Exact or NotOlderThan")
	}
	if match == metav1.ResourceVersionMatchExact {
		return c.exact(v, o.Clusters)
	}
	if err := c.wait(ctx, v, o.Clusters); err != nil {
		return nil, err
	}
	return c.completeSnapshot(o.Clusters)
}

// page finds the end of the page, and makes the token for the next one.
func (l *List) page(k *kindCache, remaining int64) {
	var count, rest int64
	var last *object
	known := remaining > 0
	for o := range l.objects(0) {
		if count == l.limit {
			if !l.selector.all() || known {
				rest = 1
				break
			}
			rest++
			continue
		}
		last = o
		count++
	}
	if rest == 0 {
		return
	}
	if l.selector.all() {
		if known {
			rest = max(remaining-l.limit, 1)
		}
		l.Remaining = &rest
	} else {
		rest = 0
	}
	l.Continue = newToken(l.ResourceVersion, last, rest)
	k.keep(l.snapshot, l.selector.Clusters)
}

// All returns the items of the page.
func (l *List) All() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for o := range l.objects(l.limit) {
			if !yield(o.of(l.kind)) {
				return
			}
		}
	}
}

// objects returns at most limit selected objects; all if the limit is 0.
func (l *List) objects(limit int64) iter.Seq[*object] {
	return func(yield func(*object) bool) {
		start := first(l.selector.Namespace, "")
		if l.selector.Namespace != "" && l.selector.name != "" {
			start = first(l.selector.Namespace, l.selector.name)
		}
		if l.after != nil && before(start, l.after) {
			start = l.after
		}
		var n int64
		l.snapshot.objects.AscendGreaterOrEqual(start, func(o *object) bool {
			switch {
			case l.selector.Namespace != "" && o.namespace != l.selector.Namespace:
				return false
			case l.after != nil && compare(o, l.after) == 0, !l.snapshot.clusters[o.cluster], !l.selector.matches(o):
				return true
			}
			n++
			return yield(o) && n != limit
		})
	}
}

// keptSnapshot is a snapshot for later pages.
type keptSnapshot struct {
	text string
	// clusters are those of the request; nil for all.
	clusters []string
	state    *snapshot
	until    time.Time
}

func (k keptSnapshot) is(text string, clusters []string) bool {
	return k.text == text && (k.clusters == nil) == (clusters == nil) && slices.Equal(k.clusters, clusters)
}

// Limits of the states that are kept for further pages of lists. Pages of others are answered from the window or with
// 410.
const (
	// MaxKeptLists limits the lists of a kind whose state is kept.
	MaxKeptLists = 16
	// KeepTime limits how long a state is kept.
	KeepTime = 2 * time.Minute
)

func (c *kindCache) keep(s *snapshot, clusters []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	text, now := s.vector.String(), time.Now()
	var kept []keptSnapshot
	for _, k := range c.kept {
		if !k.is(text, clusters) && now.Before(k.until) {
			kept = append(kept, k)
		}
	}
	kept = append(kept, keptSnapshot{text, clusters, s, now.Add(KeepTime)})
	c.kept = kept[max(len(kept)-MaxKeptLists, 0):]
}
