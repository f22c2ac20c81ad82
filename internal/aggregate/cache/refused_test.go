package cache_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// Reads whose version cannot be served are counted by reason.
func TestRefusedReadsAreCounted(t *testing.T) {
	options := fast
	options.WaitTimeout = 50 * time.Millisecond
	f := newFleet(t, 1, options)
	f.members[0].Put(podPath, pod("a", "n1"))
	f.synced()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(f.Collector())
	l, err := f.List(t.Context(), pods, cache.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	future, err := version.Parse(l.ResourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	future.Components[0].Version = math.MaxInt64
	var many []version.Component
	for i := range version.MaxClusters + 1 {
		many = append(many, version.Component{Cluster: fmt.Sprintf("c%d", i), Version: 1})
	}
	for _, c := range []struct {
		version, reason string
		is              func(error) bool
	}{
		{strings.Repeat("a", version.MaxLength+1), cache.Invalid, apierrors.IsBadRequest},
		{version.New(many...).String(), cache.Invalid, apierrors.IsBadRequest},
		{"1", cache.Expired, apierrors.IsResourceExpired},
		{future.String(), cache.NotReached, apierrors.IsTimeout},
	} {
		name := fmt.Sprintf("%.20s", c.version)
		before := gauge(t, r, cache.RefusedReadsName, c.reason)
		_, err := f.List(t.Context(), pods, cache.ListOptions{ResourceVersion: c.version})
		if !c.is(err) {
			t.Errorf("list at %s: %v", name, err)
		}
		_, _, err = f.Get(t.Context(), pods, "default", "a", cache.GetOptions{ResourceVersion: c.version})
		if !c.is(err) {
			t.Errorf("get at %s: %v", name, err)
		}
		if n := gauge(t, r, cache.RefusedReadsName, c.reason) - before; n != 2 {
			t.Errorf("%v reads at %s are counted as %s, want 2", n, name, c.reason)
		}
	}
	before := gauge(t, r, cache.RefusedReadsName, cache.Expired)
	if _, err := f.Watch(t.Context(), pods, cache.WatchOptions{ResourceVersion: "1"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("watch: %v", err)
	}
	if n := gauge(t, r, cache.RefusedReadsName, cache.Expired) - before; n != 1 {
		t.Errorf("%v watches are counted, want 1", n)
	}
}

// A member that is slow, or that sends too much, makes its lists and watches fail, and each failure is counted.
func TestFailuresOfMembersAreCounted(t *testing.T) {
	for _, c := range []struct {
		limit string
		set   func(*cache.Options)
		fault membertest.Faults
	}{
		{"MaxObjects", func(o *cache.Options) { o.MaxObjects = 1 }, membertest.Faults{}},
		{"MaxObjectBytes", func(o *cache.Options) { o.MaxObjectBytes = 32 << 10 }, membertest.Faults{}},
		{"RequestTimeout", func(o *cache.Options) { o.RequestTimeout = 50 * time.Millisecond }, membertest.Faults{Silent: true}},
		{"IdleTimeout", func(o *cache.Options) { o.IdleTimeout = 50 * time.Millisecond }, membertest.Faults{}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			options := fast
			c.set(&options)
			f := newFleet(t, 1, options)
			t.Cleanup(func() { f.members[0].Set(membertest.Faults{}) }) // or its server does not end
			f.members[0].Put(podPath, pod("a", "n1"))
			f.members[0].Put(podPath, pod("b", strings.Repeat("n", 64<<10)))
			f.members[0].Set(c.fault)
			f.configure()
			r := prometheus.NewPedanticRegistry()
			r.MustRegister(f.Collector())
			eventually(t, func() error {
				if n := gauge(t, r, cache.FailuresName, "c1"); n == 0 {
					return fmt.Errorf("no failure: %+v", f.Status())
				}
				return nil
			})
		})
	}
}
