package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// Each version that a watch delivers is a safe resume point: a watch from it ends in the current state, or gets 410.
func TestDeliveredVersionsAreSafeResumePoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	options := fast
	options.WindowEvents, options.BookmarkDelay = 60, 100*time.Millisecond
	f := newFleet(t, 3, options)
	f.synced()
	next := f.follow(cache.WatchOptions{ResourceVersion: "0", AllowWatchBookmarks: true})
	type point struct {
		version string
		state   map[string]uint64
	}
	var points []point
	state, last := map[string]uint64{}, map[string]uint64{}
	for range 20 {
		for range 1 + random.IntN(8) {
			i := random.IntN(3)
			name := fmt.Sprintf("p%d-c%d", random.IntN(6), i+1)
			if random.IntN(3) == 0 {
				f.members[i].Delete(podPath, "default", name)
			} else {
				f.members[i].Put(podPath, pod(name, "n"))
			}
		}
		f.synced()
		for ended := false; !ended; {
			_, e := next()
			if ended = e.Type == "BOOKMARK"; ended {
				points = append(points, point{e.ResourceVersion, maps.Clone(state)})
				break
			}
			points = append(points, point{e.Object.ResourceVersion(), maps.Clone(state)})
			if at := e.Object.MemberVersion(); at <= last[e.Object.Cluster()] {
				t.Fatalf("version %d of %s after %d", at, e.Object.Cluster(), last[e.Object.Cluster()])
			}
			last[e.Object.Cluster()] = e.Object.MemberVersion()
			apply(state, e)
		}
	}
	resumed := 0
	for _, p := range points {
		w, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: p.version})
		if apierrors.IsResourceExpired(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		resumed++
		for fmt.Sprint(p.state) != fmt.Sprint(state) {
			e, err := w.Next(t.Context())
			if err != nil || e.Status() != nil {
				t.Fatal(e.Status(), err)
			}
			apply(p.state, e)
		}
		w.Stop()
	}
	if resumed < 3 || resumed == len(points) {
		t.Errorf("%d of %d versions were resumed", resumed, len(points))
	}
}

func apply(state map[string]uint64, e cache.Event) {
	if e.Type == "DELETED" {
		delete(state, e.Object.Name())
	} else {
		state[e.Object.Name()] = e.Object.MemberVersion()
	}
}
