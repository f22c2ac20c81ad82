package aggregate

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/fleet"
)

// maxMessage limits the message of a condition, in bytes.
const maxMessage = 1024

// synchronize keeps the cache in line with the Clusters and ResourceRegistries until the context ends. It also runs
// when the channel has an element.
func (s *Server) synchronize(ctx context.Context, changed <-chan struct{}) {
	timer := time.NewTicker(s.config.ProbeInterval)
	defer timer.Stop()
	for {
		if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("the control plane does not answer; clusters and registries stay as they are", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer.C:
		}
	}
}

func (s *Server) refresh(ctx context.Context) error {
	var clusters clusterv1.ClusterList
	if err := s.kube.List(ctx, &clusters); err != nil {
		return err
	}
	var registries searchv1.ResourceRegistryList
	if err := s.kube.List(ctx, &registries); err != nil {
		return err
	}
	wanted := groupVersions(registries.Items)
	members := s.fleet.Refresh(ctx, clusters.Items, wanted)
	s.known = s.knownKinds(ctx, wanted, members)
	next := &view{members: members, selected: selectKinds(registries.Items, members, s.known)}
	define(ctx, next, s.view.Load())
	if err := s.install(next); err != nil {
		return err
	}
	states := s.cache.Status()
	for i := range registries.Items {
		s.writeStatus(ctx, &registries.Items[i], next, states)
	}
	return nil
}

// install makes a view that of new requests.
func (s *Server) install(next *view) error {
	if err := s.cache.SetMembers(cacheMembers(next.members)); err != nil {
		return err
	}
	var kinds []cache.Kind
	for _, k := range next.selected.kinds {
		kinds = append(kinds, k.kind)
	}
	if err := s.cache.SetKinds(kinds); err != nil {
		return err
	}
	before := s.view.Load()
	for _, m := range next.members {
		if old, _ := before.member(m.Name); m.Ready && !old.Ready {
			s.cache.Retry(m.Name)
		}
	}
	s.view.Store(next)
	s.refreshed.Store(true)
	s.passed.endOf(next.selected.kinds)
	return nil
}

func cacheMembers(members []fleet.Member) []cache.Member {
	var out []cache.Member
	for _, m := range members {
		out = append(out, cache.Member{
			Name: m.Name, Identity: m.Identity, Host: strings.TrimSuffix(m.Reader.URL.String(), "/"), Client: m.Reader,
			Late: m.Late,
		})
	}
	return out
}

// writeStatus sets the conditions of a registry: Ready is true if all its kinds are synced in all their clusters.
func (s *Server) writeStatus(ctx context.Context, r *searchv1.ResourceRegistry, v *view, states []cache.Status) {
	before := r.DeepCopy()
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Synced", ObservedGeneration: r.Generation,
		Message: "all kinds are cached",
	}
	if lacking := v.selected.lacking[r.Name]; len(lacking) > 0 {
		ready.Message += "; " + strings.Join(lacking, "; ")
	}
	problems := slices.Clone(v.selected.problems[r.Name])
	waiting := waitingFor(slices.DeleteFunc(slices.Clone(states), func(st cache.Status) bool {
		return !v.selected.of[r.Name][st.Resource]
	}))
	switch {
	case len(problems) > 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "NotSelected", strings.Join(problems, "; ")
	case len(waiting) > 0:
		ready.Status, ready.Reason = metav1.ConditionFalse, "Syncing"
		ready.Message = "kinds that are not cached or not current: " + strings.Join(waiting, "; ")
	}
	if len(ready.Message) > maxMessage {
		ready.Message = strings.ToValidUTF8(ready.Message[:maxMessage], "")
	}
	meta.SetStatusCondition(&r.Status.Conditions, ready)
	if r.Spec.BackendStore == nil {
		meta.RemoveStatusCondition(&r.Status.Conditions, "BackendStore")
	} else {
		meta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{
			Type: "BackendStore", Status: metav1.ConditionFalse, Reason: "NotSupported", ObservedGeneration: r.Generation,
			Message: "spec.backendStore is not supported: objects are cached in memory only; remove the field",
		})
	}
	if equality.Semantic.DeepEqual(before.Status, r.Status) {
		return
	}
	if err := s.kube.Status().Patch(ctx, r, client.MergeFrom(before)); err != nil {
		s.config.Log.Warn("the status of a ResourceRegistry was not written", "registry", r.Name, "error", err)
	}
}

// waitingFor names the kinds and clusters that are not synced or not connected.
func waitingFor(states []cache.Status) []string {
	var out []string
	for _, st := range states {
		if st.Synced && st.Connected {
			continue
		}
		text := st.Resource.GroupResource().String() + " of cluster " + st.Cluster
		if st.Synced {
			text += " (last known state)"
		}
		if st.Error != "" {
			text += ": " + st.Error
		}
		out = append(out, text)
	}
	return out
}
