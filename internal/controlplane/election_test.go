package controlplane

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// leaseServer has one Lease, for which replicas run.
type leaseServer struct {
	t      *testing.T
	leases clienttesting.ObjectTracker

	mu       sync.Mutex
	versions int
	ending   time.Duration // of work
	working  map[string]bool
	most     int // that worked at the same time
}

// testReplica is a replica.
type testReplica struct {
	*election
	cut  atomic.Bool // from the API server
	stop func()
}

func newLeaseServer(t *testing.T) *leaseServer {
	return &leaseServer{t: t, leases: fake.NewClientset().Tracker(), working: map[string]bool{}, ending: time.Second}
}

// update writes a Lease as an API server does: on the version that was read, or not at all.
func (o *leaseServer) update(action clienttesting.Action) (bool, runtime.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
	stored, err := o.leases.Get(action.GetResource(), lease.Namespace, lease.Name)
	if err != nil {
		return true, nil, err
	}
	if stored.(*coordinationv1.Lease).ResourceVersion != lease.ResourceVersion {
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), lease.Name,
			errors.New("another version"))
	}
	o.versions++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(o.versions)
	return true, lease, o.leases.Update(action.GetResource(), lease, lease.Namespace)
}

// run lets a replica run for the Lease. Its work takes a while to end.
func (o *leaseServer) run(name string) *testReplica {
	kube := fake.NewClientset()
	c := &testReplica{
		election: newElection(kube, "mesh", name, slog.New(slog.DiscardHandler), prometheus.NewRegistry()),
	}
	kube.PrependReactor("*", "*", clienttesting.ObjectReaction(o.leases))
	kube.PrependReactor("update", "leases", o.update)
	kube.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return c.cut.Load(), nil, errors.New("no connection")
	})
	ctx, cancel := context.WithCancel(o.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.run(ctx, func(working context.Context) {
			o.note(name, true)
			<-working.Done()
			time.Sleep(o.ending)
			o.note(name, false)
		}); err != nil {
			o.t.Error(err)
		}
	})
	c.stop = func() { cancel(); running.Wait() }
	o.t.Cleanup(c.stop)
	return c
}

func (o *leaseServer) note(name string, works bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.working, name)
	if works {
		o.working[name] = true
	}
	o.most = max(o.most, len(o.working))
}

// worker names who works, after some of the bubble's time.
func (o *leaseServer) worker(after time.Duration) (name string) {
	o.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most > 1 {
		o.t.Fatalf("%d replicas worked at the same time", o.most)
	}
	for name = range o.working {
	}
	return name
}

// takeover bounds the time until somebody takes a Lease whose holder has not been heard of.
const takeover = leaseDuration + 3*retryPeriod

func TestOneReplicaLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		o.ending = leaseDuration / 2
		a := o.run("a")
		if o.worker(0) != "a" || testutil.ToFloat64(a.leaderGauge) != 1 {
			t.Fatal("the only replica does not work")
		}
		b := o.run("b")
		for range 60 {
			if o.worker(time.Second) != "a" || testutil.ToFloat64(b.leaderGauge) != 0 {
				t.Fatal("a second replica took the work away")
			}
		}
		a.stop() // ends its work, and then hands it on
		if got := o.worker(3 * retryPeriod); got != "b" || testutil.ToFloat64(a.leaderGauge) != 0 ||
			testutil.ToFloat64(b.leaderGauge) != 1 {
			t.Errorf("when the first is stopped, %q works", got)
		}
	})
}

// A leader without access to the API server stops before another replica can acquire the Lease, and may lead again
// later.
func TestPartitionedLeaderStopsBeforeTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		a := o.run("a")
		o.worker(time.Minute)
		b := o.run("b")
		o.worker(time.Minute)
		a.cut.Store(true)
		if got := o.worker(renewDeadline / 2); got != "a" {
			t.Errorf("a short while without the API server, and %q works", got)
		}
		if got := o.worker(renewDeadline/2 + retryPeriod + time.Second); got != "" {
			t.Errorf("the Lease could not be renewed, and %q works", got)
		}
		if got := o.worker(takeover - renewDeadline); got != "b" {
			t.Errorf("the Lease has ended, and %q works", got)
		}
		a.cut.Store(false)
		if got := o.worker(time.Minute); got != "b" {
			t.Errorf("the first is there again, and %q works", got)
		}
		b.cut.Store(true)
		if got := o.worker(takeover); got != "a" {
			t.Errorf("the second is cut off, and %q works", got)
		}
		b.stop() // who is cut off can be stopped
	})
}

// During an outage of the API server no replica leads. One does when it ends.
func TestNoLeaderWithoutAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		a, b := o.run("a"), o.run("b")
		o.worker(time.Minute)
		a.cut.Store(true)
		b.cut.Store(true)
		if got := o.worker(takeover); got != "" {
			t.Errorf("%q works", got)
		}
		o.worker(time.Hour)
		a.cut.Store(false)
		b.cut.Store(false)
		if got := o.worker(takeover); got == "" {
			t.Error("nobody works")
		}
	})
}
