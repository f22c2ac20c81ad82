package cache_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// wrap puts a handler in front of a member.
func (f *fleet) wrap(member int, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	f.t.Helper()
	next := f.members[member]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, next) }))
	f.t.Cleanup(func() {
		f.Close() // or it connects again
		server.CloseClientConnections()
		server.Close()
	})
	f.hosts[member] = server.URL
	f.configure()
}

// arrives checks that an event of a member arrives soon.
func (f *fleet) arrives(next func() (string, cache.Event), member int, name string) {
	f.t.Helper()
	began := time.Now()
	f.members[member].Put(podPath, pod(name, "n"))
	if got, _ := next(); got != "ADDED "+name || time.Since(began) > 2*time.Second {
		f.t.Errorf("got %s after %v", got, time.Since(began))
	}
}

// TestSlowMemberDelaysNoOther guards against a cluster whose answers take long.
func TestSlowMemberDelaysNoOther(t *testing.T) {
	f := newFleet(t, 2, fast)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.members[1].Put(podPath, pod("b", "n2"))
	f.joined[1] = false
	f.configure() // the cluster was read already, or not
	f.joined[1] = true
	f.wrap(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-time.After(time.Second):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	eventually(t, func() error {
		l, err := f.List(t.Context(), pods, cache.ListOptions{})
		if got := content(t, l, err); got != "default/a@c1" {
			return fmt.Errorf("list has %s", got)
		}
		if fmt.Sprint(l.Missing) != "[c2]" {
			return fmt.Errorf("%v are missing", l.Missing)
		}
		return nil
	})
	next := f.follow(cache.WatchOptions{ResourceVersion: "0"})
	if got, _ := next(); got != "ADDED a" {
		t.Error(got)
	}
	f.arrives(next, 0, "c")
	f.synced()
	if got, _ := next(); got != "ADDED b" {
		t.Errorf("when the slow cluster is there, the watch gets %s", got)
	}
}

// TestHalfOpenMemberIsNoticed guards against a connection that stays open and has no data.
func TestHalfOpenMemberIsNoticed(t *testing.T) {
	options := fast
	options.IdleTimeout = 1200 * time.Millisecond
	f := newFleet(t, 2, options)
	var gate sync.RWMutex
	f.wrap(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&gated{w, &gate}, r)
	})
	f.members[1].Put(podPath, pod("b", "n2"))
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	gate.Lock()
	open := sync.OnceFunc(gate.Unlock)
	defer open()
	f.arrives(next, 0, "a")
	eventually(t, func() error {
		if s := f.Status()[1]; s.Connected || s.Error == "" || s.DisconnectedSince.IsZero() {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	f.members[1].Put(podPath, pod("late", "n2"))
	l, err = f.List(t.Context(), pods, cache.ListOptions{})
	if got := content(t, l, err); got != "default/a@c1 default/b@c2" {
		t.Errorf("the last known state is %s", got)
	}
	open()
	if got, _ := next(); got != "ADDED late" {
		t.Error(got)
	}
}

// gated writes nothing while the gate is closed.
type gated struct {
	http.ResponseWriter
	gate *sync.RWMutex
}

func (g *gated) Write(p []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.ResponseWriter.Write(p)
}

func (g *gated) Flush() {
	g.gate.RLock()
	defer g.gate.RUnlock()
	g.ResponseWriter.(http.Flusher).Flush()
}

// TestMemberThatAnswersGoneToEachWatch guards against a loop of lists, and against watches that end with it.
func TestMemberThatAnswersGoneToEachWatch(t *testing.T) {
	f := newFleet(t, 1, fast)
	var lists atomic.Int64
	f.wrap(0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("watch") == "" {
			lists.Add(1)
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
	})
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	began := time.Now()
	before := lists.Load()
	for i := range 5 {
		f.arrives(next, 0, fmt.Sprint("p", i))
	}
	// The pause between attempts is at least a quarter of MaxBackoff at the end, and an attempt has two requests.
	if n, limit := lists.Load()-before, 2*int64(time.Since(began)/(25*time.Millisecond)+10); n > limit {
		t.Errorf("%d lists in %v, the limit is %d", n, time.Since(began), limit)
	}
}

// TestMemberThatIsBackIsReadAtOnce guards against the pause after a long outage.
func TestMemberThatIsBackIsReadAtOnce(t *testing.T) {
	options := fast
	options.MaxBackoff = time.Hour
	f := newFleet(t, 1, options)
	const failures = 6 // the pause after them is at least 0.8 s
	var requests atomic.Int64
	down := make(chan struct{})
	f.wrap(0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch n := requests.Add(1); {
		case n < failures:
			http.Error(w, "down", http.StatusInternalServerError)
		case n == failures:
			http.Error(w, "down", http.StatusInternalServerError)
			close(down)
		default:
			next.ServeHTTP(w, r)
		}
	})
	<-down
	f.members[0].Put(podPath, pod("a", "n1"))
	began := time.Now()
	f.Retry("c1")
	f.synced()
	if took := time.Since(began); took > 700*time.Millisecond {
		t.Errorf("the member is read after %v", took)
	}
}

// TestMemberThatReturnsOldVersions guards against a cluster that was restored from a backup, whose history is another
// one.
func TestMemberThatReturnsOldVersions(t *testing.T) {
	f := twoPods(t)
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	f.members[1].Restore(500)
	f.members[1].Delete(podPath, "default", "b")
	for got, e := next(); got != "ERROR"; got, e = next() {
		if e.Object.Cluster() != "c2" {
			t.Errorf("got %s of cluster %s", got, e.Object.Cluster())
		}
	}
	f.synced()
	if _, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: l.ResourceVersion}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from the former history: %v", err)
	}
}

// TestMemberWithAnotherIdentity guards against versions of a cluster that was rebuilt under the same name.
func TestMemberWithAnotherIdentity(t *testing.T) {
	f := twoPods(t)
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	f.identities[1] = "rebuilt"
	f.configure()
	if got, e := next(); got != "ERROR" || e.Status().Code != http.StatusGone {
		t.Errorf("%s: %s", got, e.AppendJSON(nil))
	}
	f.synced()
	if _, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: l.ResourceVersion}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from the version of the former cluster: %v", err)
	}
}

// TestSlowWatcherIsCut guards against a buffer that grows, and against a watcher that delays the others.
func TestSlowWatcherIsCut(t *testing.T) {
	options := fast
	options.WindowEvents = 50
	f := newFleet(t, 1, options)
	f.synced()
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slow := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	quick := f.follow(cache.WatchOptions{ResourceVersion: l.ResourceVersion})
	for i := range 200 {
		f.arrives(quick, 0, fmt.Sprint("p", i))
	}
	if got, e := slow(); got != "ERROR" || e.Status().Code != http.StatusGone {
		t.Errorf("the slow watcher gets %s", got)
	}
}
