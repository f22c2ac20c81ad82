package cache_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// TestVersionsOfOtherNamespacesAreExpired guards against a client that reconnects after a registry began to select other
// namespaces of a cluster without changes: the objects differ, and the version of the cluster does not.
func TestVersionsOfOtherNamespacesAreExpired(t *testing.T) {
	f := newFleet(t, 2, fast)
	for _, namespace := range []string{"default", "other"} {
		o := pod("a", "n1")
		o["metadata"].(membertest.Object)["namespace"] = namespace
		f.members[0].Put(podPath, o)
	}
	f.synced()
	before, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespaces := range [][]string{{"default"}, {"default", "other"}, {"other"}, nil} {
		f.scopes[0] = namespaces
		f.configure()
		f.synced()
		_, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: before.ResourceVersion})
		if !apierrors.IsResourceExpired(err) && (namespaces != nil || err != nil) {
			t.Errorf("a watch, with the namespaces %v, from the version of others: %v", namespaces, err)
		}
		after, err := f.List(t.Context(), pods, cache.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for o := range after.All() {
			_, _, err := f.Get(t.Context(), pods, o.Namespace(), o.Name(), cache.GetOptions{ResourceVersion: o.ResourceVersion()})
			if err != nil {
				t.Errorf("GET of the version of the object: %v", err)
			}
		}
	}
}
