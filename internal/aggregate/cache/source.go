package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// source keeps a kind of one cluster current with a list and watches.
type source struct {
	kind    *kindCache
	cluster *cluster
	member  Member
	scope   Scope
	texts   *interner
	cancel  context.CancelFunc
	// probe asks for a bookmark soon. short is set if a probe ended a watch.
	probe chan struct{}
	short atomic.Bool
	// retry ends the pause after a failure.
	retry chan struct{}
}

// run lists and watches until the context ends.
func (s *source) run(ctx context.Context) {
	listed, failures := false, 0
	for ctx.Err() == nil {
		began := time.Now()
		err := s.once(ctx, &listed)
		if err == nil && time.Since(began) > time.Second {
			failures = 0
			continue
		}
		if err != nil {
			s.kind.disconnected(s, err)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, errOrder) ||
				errors.Is(err, errRelist) {
				listed = false
			}
		}
		failures++
		if time.Since(began) > s.kind.options.MaxBackoff {
			failures = 1
		}
		s.wait(ctx, failures)
	}
}

// once lists the kind if it has to, and watches it until the watch ends.
func (s *source) once(ctx context.Context, listed *bool) error {
	if !*listed || !s.isSynced() {
		objects, at, err := s.list(ctx)
		if err != nil {
			return fmt.Errorf("list %s of cluster %s: %w", s.kind.info.Resource.Resource, s.cluster.name, err)
		}
		s.kind.synced(s, objects, at)
		*listed = true
	} else if err := s.checkHistory(ctx); err != nil {
		return fmt.Errorf("check %s of cluster %s: %w", s.kind.info.Resource.Resource, s.cluster.name, err)
	}
	if err := s.watch(ctx); err != nil {
		return fmt.Errorf("watch %s of cluster %s: %w", s.kind.info.Resource.Resource, s.cluster.name, err)
	}
	return nil
}

// checkHistory compares the member's version with the position. API servers accept watches from versions that they do
// not have yet, so that the events of a cluster that was restored from a backup would be lost.
func (s *source) checkHistory(ctx context.Context) error {
	newest, err := s.page(ctx, url.Values{"limit": {"1"}}, func([]byte) error { return nil })
	if err != nil {
		return err
	}
	if position := s.position(); newest.version < position {
		return fmt.Errorf("%w: the member has version %d after %d", errOrder, newest.version, position)
	}
	return nil
}

// wait pauses before attempt n, for 50 ms at first and at most for MaxBackoff.
func (s *source) wait(ctx context.Context, n int) {
	pause := min(50*time.Millisecond<<min(n-1, 20), s.kind.options.MaxBackoff)
	timer := time.NewTimer(pause/2 + rand.N(pause))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.retry:
	}
}

func (s *source) isSynced() bool {
	s.kind.mutex.Lock()
	defer s.kind.mutex.Unlock()
	m := s.kind.owner(s)
	return m != nil && m.synced
}

func (s *source) position() uint64 {
	s.kind.mutex.Lock()
	defer s.kind.mutex.Unlock()
	if m := s.kind.owner(s); m != nil {
		return m.position
	}
	return 0
}

// list reads all pages of a list. Objects that are stored in the same version are not stored again.
func (s *source) list(ctx context.Context) ([]*object, uint64, error) {
	var all []*object
	s.kind.forgetMalformed(s)
	query := url.Values{"limit": {strconv.Itoa(s.kind.options.PageSize)}}
	for {
		page, err := s.page(ctx, query, func(raw []byte) error {
			o, err := ingest(s.kind.info, s.cluster, s.texts, raw)
			if err != nil {
				if o = s.kind.reject(s, newMalformed(raw, err)); o == nil {
					return nil
				}
			}
			if !s.includes(o) {
				return nil
			}
			s.kind.mutex.Lock()
			if old := s.kind.find(s.cluster, o.namespace, o.name); old != nil && old.version == o.version {
				o = old
			}
			s.kind.mutex.Unlock()
			if len(all) >= s.kind.options.MaxObjects {
				return fmt.Errorf("more than %d objects", s.kind.options.MaxObjects)
			}
			all = append(all, o)
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		if page.next == "" {
			return all, page.version, nil
		}
		query.Set("continue", page.next)
	}
}

// includes reports whether the scope has an object. A scope of one namespace is in the URL already.
func (s *source) includes(o *object) bool {
	return len(s.scope.Namespaces) == 0 || !s.kind.info.Namespaced || slices.Contains(s.scope.Namespaces, o.namespace)
}

// path returns the path of the kind at the member.
func (s *source) path() string {
	r := s.kind.info.Resource
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if s.kind.info.Namespaced && len(s.scope.Namespaces) == 1 {
		path += "/namespaces/" + url.PathEscape(s.scope.Namespaces[0])
	}
	return path + "/" + r.Resource
}
