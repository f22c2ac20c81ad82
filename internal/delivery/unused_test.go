package delivery_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
)

// One minute after the last client, the resources of a workload are dropped. A client that returns with its versions
// gets only what changed meanwhile.
func TestResourcesAreDroppedAfterLastClient(t *testing.T) {
	// Other tests have no equal resources of this backend, which would be the same in memory.
	text := strings.NewReplacer("name: back", "name: unused", "app: back", "app: unused").Replace(shop)
	cluster := xds.Ref{TypeURL: clusters, Name: "cds_egress_m_unused_a_http_80"}
	for name, c := range map[string]struct{ meanwhile, want string }{
		"nothing changed":       {text, ""},
		"a destination changed": {strings.Replace(text, "unused.example", "moved.example", 1), "+" + cluster.Name},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, conn := newClientFixture(t)
				f.applyYAML(t, text)
				client := open(t, conn, front, "p1", nil)
				client.next(t)
				kept := f.ResourcesOf(front)
				f.leave(t, client, front)
				time.Sleep(delivery.KeepUnused - time.Second)
				if f.VersionOf(front, cluster) == "" {
					t.Error("dropped too early")
				}
				time.Sleep(2 * time.Second)
				if len(f.ResourcesOf(front)) != 0 {
					t.Errorf("still published after %s", delivery.KeepUnused)
				}
				checkFreed(t, kept, "unused")
				f.applyYAML(t, c.meanwhile)
				if len(f.ResourcesOf(front)) != 0 {
					t.Error("published without clients")
				}
				again := open(t, conn, front, "p1", client.versions)
				if got := again.next(t); got != c.want || again.versions[cluster.Name] != f.VersionOf(front, cluster) {
					t.Errorf("returned: received %q, want %q", got, c.want)
				}
			})
		})
	}
}

// checkFreed checks that no resources with a part of a name are in memory.
func checkFreed(t *testing.T, kept map[xds.Ref]weak.Pointer[xds.Resource], name string) {
	t.Helper()
	for range 3 { // as many as a weak reference with a cleanup takes
		runtime.GC()
	}
	checked := 0
	for ref, r := range kept {
		if !strings.Contains(ref.Name, name) {
			continue
		}
		if checked++; r.Value() != nil {
			t.Errorf("%s %s is still in memory", ref.TypeURL, ref.Name)
		}
	}
	if checked < 3 { // a cluster, a route and its scope
		t.Errorf("%d resources are named %s", checked, name)
	}
}

// A client that returns within the minute needs no rendering. The minute starts again when it leaves.
func TestClientReturnsWithinMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, conn := newClientFixture(t)
		f.applyYAML(t, shop)
		client := open(t, conn, front, "p1", nil)
		client.next(t)
		f.leave(t, client, front)
		f.applyYAML(t, shopAt("elsewhere.example"))
		rendered := f.rendered(t)
		f.publisher.takeCalls()
		time.Sleep(delivery.KeepUnused / 2)
		again := open(t, conn, front, "p1", client.versions)
		if got := again.next(t); got != "+"+toBack || again.versions[toBack] != f.version() {
			t.Errorf("returned: received %q, want what changed meanwhile", got)
		}
		time.Sleep(delivery.KeepUnused/2 - time.Second)
		f.leave(t, again, front)
		time.Sleep(delivery.KeepUnused - time.Second) // longer than a minute after the first time
		if got := f.publisher.takeCalls(); len(got) != 0 || !maps.Equal(f.rendered(t), rendered) {
			t.Errorf("got calls %q, renderings %v, before %v", got, f.rendered(t), rendered)
		}
		time.Sleep(2 * time.Second)
		if got := f.publisher.takeCalls(); !slices.Equal(got, []string{"unpublish m/front_a"}) {
			t.Errorf("a minute after the client left again: got calls %q", got)
		}
	})
}

// The resources of a workload are kept while it has one of several clients, and those of its destinations while another
// workload has clients.
func TestResourcesOfOtherClientsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, conn := newClientFixture(t)
		for _, o := range shiftObjects(t, 2, 2) {
			f.engine.Set(o)
		}
		f.engine.Sync()
		one, two := workloadOf(0), workloadOf(1)
		first, second := open(t, conn, one, "p1", nil), open(t, conn, one, "p2", nil)
		other := open(t, conn, two, "p3", nil)
		for _, c := range []*deltaClient{first, second, other} {
			c.next(t)
		}
		destinations := f.rendered(t)["destination"]
		first.close()
		time.Sleep(2 * delivery.KeepUnused)
		f.leave(t, second, one)
		time.Sleep(2 * delivery.KeepUnused)
		want := []string{"publish m/c0000_a", "publish m/c0001_a", "unpublish m/c0000_a"}
		if got := f.publisher.takeCalls(); !slices.Equal(got, want) {
			t.Errorf("got calls %q, want %q", got, want)
		}
		again := open(t, conn, one, "p1", first.versions)
		if got := again.next(t); got != "" || f.rendered(t)["destination"] != destinations {
			t.Errorf("returned: received %q, renderings %v, before %v of destinations", got, f.rendered(t), destinations)
		}
	})
}
