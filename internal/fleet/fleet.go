package fleet

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// probeTimeout limits the probe of a cluster, so that an unreachable one does not delay the others for longer.
const probeTimeout = 5 * time.Second

// Member is a member cluster that answered at least once since its Cluster was created.
type Member struct {
	Name string
	// Identity is the uid of the namespace kube-system.
	Identity               string
	Labels                 map[string]string
	Provider, Region, Zone string
	Zones                  []string
	// Ready is false while the API server does not answer the probe as it should.
	Ready bool
	// Away is why the API server does not answer at all, and AwaySince since when; empty if it answers.
	Away      string
	AwaySince time.Time
	// Late is true if the Cluster was created after the first call of Refresh, and no earlier call reached it.
	Late bool
	// Reader has the permissions of the cache.
	Reader *Endpoint
	// Impersonator may impersonate users; nil without spec.impersonatorSecretRef.
	Impersonator *Endpoint
	// Resources are the kinds of the requested groups and versions that the cluster offers; nil until the first answer.
	Resources map[string]*metav1.APIResourceList
}

// Fleet has the connections to the member clusters.
type Fleet struct {
	// Kube is the control plane.
	Kube client.Client
	// OwnsStatus is false if another control plane writes the status of Clusters.
	OwnsStatus bool
	Log        *slog.Logger
	known      map[string]*connection
	// timeout limits a probe; probeTimeout if 0.
	timeout time.Duration
}

// connection is what is known of a Cluster.
type connection struct {
	member Member
	// uid is that of the Cluster.
	uid     types.UID
	version string
	// key changes with the Cluster's spec and its Secrets.
	key string
	err error
}

// Refresh probes all clusters in parallel, reads the kinds of the groups and versions, writes the conditions of the
// Clusters, and returns the members ordered by name. It is not safe for concurrent use.
func (f *Fleet) Refresh(ctx context.Context, clusters []clusterv1.Cluster, groupVersions []string) []Member {
	next := make(map[string]*connection, len(clusters))
	var group sync.WaitGroup
	limit := make(chan struct{}, 32)
	for i := range clusters {
		cluster := &clusters[i]
		c := &connection{}
		if old, ok := f.known[cluster.Name]; ok {
			*c = *old
		}
		switch {
		case c.uid != cluster.UID:
			c.uid, c.member.Late = cluster.UID, f.known != nil
		case c.member.Ready:
			c.member.Late = false
		}
		next[cluster.Name] = c
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			bounded, cancel := context.WithTimeout(ctx, cmp.Or(f.timeout, probeTimeout))
			defer cancel()
			c.err = f.refresh(bounded, c, cluster, groupVersions)
			c.member.Ready = c.err == nil
			c.member.setAway(c.err)
			if f.OwnsStatus && ctx.Err() == nil {
				f.writeStatus(ctx, c, cluster)
			}
		})
	}
	group.Wait()
	f.known = next
	var members []Member
	for _, c := range next {
		if c.member.Identity != "" && c.member.Reader != nil {
			members = append(members, c.member)
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return members
}

// setAway records the result of a probe. An answer with another status, and a Cluster that cannot be used, are no
// reason to expect that requests of users do not reach the API server.
func (m *Member) setAway(err error) {
	var unanswered unansweredError
	if !errors.As(err, &unanswered) {
		m.Away, m.AwaySince = "", time.Time{}
		return
	}
	if m.Away = err.Error(); m.AwaySince.IsZero() {
		m.AwaySince = time.Now()
	}
}

func (f *Fleet) refresh(ctx context.Context, c *connection, cluster *clusterv1.Cluster, groupVersions []string) error {
	c.member.Name = cluster.Name
	c.member.Labels = cluster.Labels
	c.member.Provider, c.member.Region = cluster.Spec.Provider, cluster.Spec.Region
	c.member.Zone, c.member.Zones = cluster.Spec.Zone, cluster.Spec.Zones
	if err := f.connect(ctx, c, cluster); err != nil {
		return err
	}
	if c.member.Identity == "" {
		// A process that starts while the cluster is away must not answer that the cluster left.
		c.member.Identity = cluster.Spec.ID
	}
	return c.probe(ctx, groupVersions)
}

func (f *Fleet) secret(ctx context.Context, ref *clusterv1.LocalSecretReference) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, f.Kube.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret)
}
