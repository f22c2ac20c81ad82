package cache

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// parse reads the version of a request. There is no vector if any state is accepted.
func (c *kindCache) parse(text string) (version.Vector, error) {
	if text == "" || text == version.Any {
		return version.Vector{}, nil
	}
	if c.history.sequence != nil {
		return c.parseInteger(text)
	}
	if _, err := version.Number(text); err == nil {
		return version.Vector{}, expired("%.40s is the version of a single API server; list again", text)
	}
	v, err := version.Parse(text)
	if err != nil {
		return v, apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	return v, nil
}

// expired returns the 410 that makes clients list again.
func expired(format string, arguments ...any) error {
	return apierrors.NewResourceExpired("resourceVersion: " + fmt.Sprintf(format, arguments...))
}

// check returns an error if a version names a cluster that is no member, an earlier one, or another part of it. The
// mutex is held.
func (c *kindCache) check(v version.Vector, clusters []string) error {
	for _, component := range v.Components {
		m := c.members[component.Cluster]
		switch {
		case m == nil || m.status.Expired || !visible(clusters, component.Cluster):
			return expired("cluster %s is no longer a member; list again", component.Cluster)
		case v.Partial && !component.Is(m.cluster.identity), !v.Partial && !component.Is(m.cluster.part):
			return expired("cluster %s was rebuilt, or other namespaces of it are cached now; list again",
				component.Cluster)
		}
	}
	return nil
}

// progressDelay is how long a request waits for an event before it asks the member for its progress, which restarts the
// watch. After a write the event comes at once; without one, another kind of the member has changed.
const progressDelay = 100 * time.Millisecond

// wait returns when the state is not older than a version.
func (c *kindCache) wait(ctx context.Context, v version.Vector, clusters []string) error {
	if len(v.Components) == 0 {
		return nil
	}
	timer := time.NewTimer(c.options.WaitTimeout)
	defer timer.Stop()
	idle := time.NewTimer(progressDelay)
	defer idle.Stop()
	ask := false
	for {
		c.mutex.Lock()
		if err := c.check(v, clusters); err != nil {
			c.mutex.Unlock()
			return err
		}
		late := ""
		for _, component := range v.Components {
			if m := c.members[component.Cluster]; !m.synced || m.position < component.Version {
				late = component.Cluster
				if ask {
					m.source.askProgress()
				}
			}
		}
		ask = false
		changed := c.changed
		c.mutex.Unlock()
		if late == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return tooLarge(late)
		case <-idle.C:
			ask = true
		case <-changed:
		}
	}
}

// tooLarge is the answer to a version that the cache does not reach in time. Clients wait and list again.
func tooLarge(cluster string) error {
	err := apierrors.NewTimeoutError("Too large resource version: the cache has an older state of cluster "+cluster, 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

func (s *source) askProgress() {
	select {
	case s.probe <- struct{}{}:
	default:
	}
}

// Wait returns when the cache has all events of a cluster up to a member's version, such as that of a write.
func (c *Cache) Wait(ctx context.Context, resource schema.GroupVersionResource, cluster string, at uint64) error {
	k, err := c.kind(resource)
	if err != nil {
		return err
	}
	return k.wait(ctx, version.New(version.Component{Cluster: cluster, Version: at}), nil)
}

func (c *Cache) kind(resource schema.GroupVersionResource) (*kindCache, error) {
	c.mutex.RLock()
	defer c.mutex.RUnlock()
	if k := c.kinds[resource]; k != nil {
		return k, nil
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("kind %s is not cached", resource))
}
