package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// follower has the objects that a client of watches knows, by name, with their global versions.
type follower struct {
	*fleet
	watch *cache.Watch
	state map[string]string
	// last is the version of the newest event or bookmark.
	last   string
	points []point
}

// point is a version that was delivered, and the state at it.
type point struct {
	version string
	state   map[string]string
}

func (f *follower) at(text string) {
	f.t.Helper()
	if f.last != "" {
		if n, err := resourceversion.CompareResourceVersion(f.last, text); err != nil || n > 0 {
			f.t.Fatalf("version %s after %s: %v", text, f.last, err)
		}
	}
	f.last = text
	f.points = append(f.points, point{text, maps.Clone(f.state)})
}

// list begins again, as a client does after 410.
func (f *follower) list() {
	f.t.Helper()
	l, err := f.List(f.t.Context(), pods, cache.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	before := f.state
	f.state = stateOf(l)
	for name, v := range f.state {
		if old, ok := before[name]; ok && order(f.t, old, v) > 0 {
			f.t.Fatalf("%s has version %s after %s", name, v, old)
		}
	}
	f.at(l.ResourceVersion)
	if f.watch != nil {
		f.watch.Stop()
	}
	o := cache.WatchOptions{ResourceVersion: l.ResourceVersion, AllowWatchBookmarks: true}
	if f.watch, err = f.Watch(f.t.Context(), pods, o); err != nil {
		f.t.Fatal(err)
	}
}

func order(t testing.TB, a, b string) int {
	t.Helper()
	n, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func stateOf(l *cache.List) map[string]string {
	state := map[string]string{}
	for o := range l.All() {
		state[o.Name()] = o.ResourceVersion()
	}
	return state
}

// apply changes the state by an event, and returns false for an error.
func change(state map[string]string, e cache.Event) bool {
	switch e.Type {
	case "ERROR":
		return false
	case "DELETED":
		delete(state, e.Object.Name())
	case "ADDED", "MODIFIED":
		state[e.Object.Name()] = e.Object.ResourceVersion()
	}
	return true
}

// drain reads events until the state is that of the cache.
func (f *follower) drain() {
	f.t.Helper()
	f.synced()
	l, err := f.List(f.t.Context(), pods, cache.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	want := stateOf(l)
	for !maps.Equal(f.state, want) {
		e, err := f.watch.Next(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		if !change(f.state, e) {
			f.list()
			continue
		}
		if e.ResourceVersion != "" {
			f.at(e.ResourceVersion)
		} else {
			f.at(e.Object.ResourceVersion())
		}
	}
}

// TestIntegersCompareAndAreSafeResumePoints changes members at random, with lists of clusters that lost their watch,
// restored backups, and clusters that leave. Integers have the order in which the states were seen, an object has the
// same one in lists and events, and a watch or an exact list from each gives exactly the state, or 410.
func TestIntegersCompareAndAreSafeResumePoints(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	options := fast
	options.WindowEvents, options.Integers = 80, true
	f := &follower{fleet: newFleet(t, 3, options)}
	f.synced()
	f.list()
	restored := false
	for round := range 40 {
		if round == 30 { // Versions after it can be resumed.
			f.joined = []bool{true, true, true}
			f.configure()
		}
		for range 1 + random.IntN(8) {
			i := random.IntN(3)
			name := fmt.Sprintf("p%d-c%d", random.IntN(6), i+1)
			switch random.IntN(20) {
			case 0, 1, 2, 3, 4:
				f.members[i].Delete(podPath, "default", name)
			case 5:
				f.members[i].Compact()
				f.members[i].CloseWatches()
			case 6:
				if !restored && round > 5 && round < 30 {
					restored = true
					f.members[i].Restore(500)
				}
			case 7:
				if random.IntN(4) == 0 && round < 30 {
					f.joined[i] = !f.joined[i]
					f.configure()
				}
			default:
				f.members[i].Put(podPath, pod(name, "n"))
			}
		}
		f.drain()
	}
	resumed, exact := 0, 0
	for _, p := range f.points {
		l, err := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: p.version, ResourceVersionMatch: "Exact"})
		if err == nil {
			exact++
			if got := stateOf(l); !maps.Equal(got, p.state) {
				t.Fatalf("list at %s has %v, want %v", p.version, got, p.state)
			}
		} else if !apierrors.IsResourceExpired(err) {
			t.Fatal(err)
		}
		if f.resumes(p) {
			resumed++
		}
	}
	if resumed < 3 || exact < 3 || resumed == len(f.points) {
		t.Errorf("of %d versions, %d were resumed, and %d listed", len(f.points), resumed, exact)
	}
}

// resumes reports whether a watch from a version is accepted, and checks that it ends in the state of the client.
func (f *follower) resumes(p point) bool {
	f.t.Helper()
	w, err := f.Watch(f.t.Context(), pods, cache.WatchOptions{ResourceVersion: p.version})
	if apierrors.IsResourceExpired(err) {
		return false
	}
	if err != nil {
		f.t.Fatal(err)
	}
	defer w.Stop()
	state := maps.Clone(p.state)
	for {
		e, ok, err := w.TryNext()
		if err != nil || ok && !change(state, e) {
			f.t.Fatalf("watch from %s: %v %v", p.version, e.Status(), err)
		}
		if !ok {
			break
		}
	}
	if !maps.Equal(state, f.state) {
		f.t.Fatalf("watch from %s gives %v, want %v", p.version, state, f.state)
	}
	return true
}

// TestIntegersOfOthersAreExpired guards clients that move to another replica, or whose replica restarts.
func TestIntegersOfOthersAreExpired(t *testing.T) {
	options := fast
	options.Integers = true
	f := newFleet(t, 1, options)
	f.members[0].Put(podPath, pod("a", "n"))
	f.synced()
	other := cache.New(options)
	t.Cleanup(other.Close)
	members := []cache.Member{{Name: "c1", Identity: "uid-1", Host: f.members[0].URL(), Client: f.members[0].Client()}}
	kind := cache.Kind{Resource: pods, Kind: "Pod", ListKind: "PodList", Namespaced: true, Scopes: []cache.Scope{{Cluster: "c1"}}}
	if err := errors.Join(other.SetMembers(members), other.SetKinds([]cache.Kind{kind})); err != nil {
		t.Fatal(err)
	}
	var l *cache.List
	eventually(t, func() (err error) {
		if l, err = other.List(t.Context(), pods, cache.ListOptions{}); err == nil && len(stateOf(l)) != 1 {
			err = errors.New("not synced")
		}
		return err
	})
	vector := version.New(version.Component{Cluster: "c1", Version: 1}).String()
	number, err := version.Number(l.ResourceVersion)
	if err != nil || number > 1<<63 {
		t.Fatal(number, err)
	}
	for _, text := range []string{
		l.ResourceVersion, stateOf(l)["a"], vector, "7", strconv.FormatUint(number+1<<40, 10),
	} {
		_, watch := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: text})
		_, list := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: text})
		_, exact := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: text, ResourceVersionMatch: "Exact"})
		_, _, get := f.Get(t.Context(), pods, "default", "a", cache.GetOptions{ResourceVersion: text})
		for _, err := range []error{watch, list, exact, get} {
			if !apierrors.IsResourceExpired(err) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if _, err := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: "x"}); !apierrors.IsBadRequest(err) {
		t.Error(err)
	}
}

// TestPagesOfAPinnedClusterHaveIntegers guards against a page of other clusters: the version does not name them.
func TestPagesOfAPinnedClusterHaveIntegers(t *testing.T) {
	options := fast
	options.Integers = true
	f := newFleet(t, 2, options)
	for i := range 6 {
		f.members[i%2].Put(podPath, pod(fmt.Sprintf("p%d", i), "n"))
	}
	f.synced()
	o := cache.ListOptions{Limit: 1}
	o.Clusters = []string{"c1"}
	l, err := f.List(t.Context(), pods, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(t.Context(), pods, cache.ListOptions{Limit: 1}); err != nil { // has the same version
		t.Fatal(err)
	}
	o.Continue, o.Limit = l.Continue, 0
	l, err = f.List(t.Context(), pods, o)
	if got := content(t, l, err); got != "default/p2@c1 default/p4@c1" {
		t.Errorf("second page has %s", got)
	}
}
