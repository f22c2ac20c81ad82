package cache

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retrySeconds is when clients repeat a request for clusters that are not listed yet. client-go does so ten times.
const retrySeconds = 2

// awaits reports whether lists wait for a cluster. Without its objects, informers would delete those that they have
// from another replica, or from before a restart. They have none of a late cluster. The mutex is held.
func (c *kindCache) awaits(m *memberState) bool {
	return !m.synced && !m.late && !m.status.Expired && time.Since(m.joined) < c.options.JoinGrace
}

// complete returns 503 if a state would lack a cluster that lists wait for. The mutex is held.
func (c *kindCache) complete(clusters []string) error {
	var awaited []string
	var end time.Time
	for _, m := range c.members {
		if visible(clusters, m.cluster.name) && c.awaits(m) {
			awaited = append(awaited, m.cluster.name)
			if at := m.joined.Add(c.options.JoinGrace); at.After(end) {
				end = at
			}
		}
	}
	if len(awaited) == 0 {
		return nil
	}
	slices.Sort(awaited)
	return unavailable("%s: not listed yet: cluster %s; the list goes on without after %s; name a cluster that was listed in "+
		"the parameter ?cluster=, or add these to spec.targetCluster.exclude of the ResourceRegistry",
		c.info.Resource.GroupResource(), strings.Join(awaited, ", "), end.UTC().Format(time.RFC3339))
}

func unavailable(format string, arguments ...any) error {
	err := apierrors.NewServiceUnavailable(fmt.Sprintf(format, arguments...))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retrySeconds}
	return err
}
