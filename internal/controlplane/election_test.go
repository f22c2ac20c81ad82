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

// leaseServer stores the Lease of several replicas.
type leaseServer struct {
	t      *testing.T
	leases clienttesting.ObjectTracker

	mu            sync.Mutex
	versions      int
	stopDuration  time.Duration // how long the leader's work takes to stop
	leading       map[string]bool
	maxConcurrent int // replicas that led at the same time
}

type testReplica struct {
	*election
	partitioned atomic.Bool // requests to the API server fail
	stop        func()
}

func newLeaseServer(t *testing.T) *leaseServer {
	return &leaseServer{
		t: t, leases: fake.NewClientset().Tracker(), leading: map[string]bool{}, stopDuration: time.Second,
	}
}

// update fails with a conflict unless the resource version matches, like an API server.
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
			errors.New("resource version conflict"))
	}
	o.versions++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(o.versions)
	return true, lease, o.leases.Update(action.GetResource(), lease, lease.Namespace)
}

// run starts a replica. Its work stops stopDuration after it loses the Lease.
func (o *leaseServer) run(name string) *testReplica {
	kube := fake.NewClientset()
	c := &testReplica{
		election: newElection(kube, "mesh", name, slog.New(slog.DiscardHandler), prometheus.NewRegistry()),
	}
	kube.PrependReactor("*", "*", clienttesting.ObjectReaction(o.leases))
	kube.PrependReactor("update", "leases", o.update)
	kube.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return c.partitioned.Load(), nil, errors.New("no connection")
	})
	ctx, cancel := context.WithCancel(o.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.run(ctx, func(working context.Context) {
			o.setLeading(name, true)
			<-working.Done()
			time.Sleep(o.stopDuration)
			o.setLeading(name, false)
		}); err != nil {
			o.t.Error(err)
		}
	})
	c.stop = func() { cancel(); running.Wait() }
	o.t.Cleanup(c.stop)
	return c
}

func (o *leaseServer) setLeading(name string, leads bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.leading, name)
	if leads {
		o.leading[name] = true
	}
	o.maxConcurrent = max(o.maxConcurrent, len(o.leading))
}

// leaderAfter advances the fake clock and returns the replica that leads, or "".
func (o *leaseServer) leaderAfter(after time.Duration) (name string) {
	o.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.maxConcurrent > 1 {
		o.t.Fatalf("%d replicas led at the same time", o.maxConcurrent)
	}
	for name = range o.leading {
	}
	return name
}

// takeoverTimeout is the maximum time until another replica acquires the Lease of a leader that stopped renewing it.
const takeoverTimeout = leaseDuration + 3*retryPeriod

func TestOneReplicaLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		o.stopDuration = leaseDuration / 2
		a := o.run("a")
		if o.leaderAfter(0) != "a" || testutil.ToFloat64(a.leaderGauge) != 1 {
			t.Fatal("the only replica does not lead")
		}
		b := o.run("b")
		for range 60 {
			if o.leaderAfter(time.Second) != "a" || testutil.ToFloat64(b.leaderGauge) != 0 {
				t.Fatal("the second replica leads")
			}
		}
		a.stop() // stops the work, then releases the Lease
		if got := o.leaderAfter(3 * retryPeriod); got != "b" || testutil.ToFloat64(a.leaderGauge) != 0 ||
			testutil.ToFloat64(b.leaderGauge) != 1 {
			t.Errorf("after the stop of the first replica: got leader %q", got)
		}
	})
}

// A leader without access to the API server stops before another replica can acquire the Lease, and may lead again
// later.
func TestPartitionedLeaderStopsBeforeTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		a := o.run("a")
		o.leaderAfter(time.Minute)
		b := o.run("b")
		o.leaderAfter(time.Minute)
		a.partitioned.Store(true)
		if got := o.leaderAfter(renewDeadline / 2); got != "a" {
			t.Errorf("before the renew deadline: got leader %q", got)
		}
		if got := o.leaderAfter(renewDeadline/2 + retryPeriod + time.Second); got != "" {
			t.Errorf("after the renew deadline: got leader %q", got)
		}
		if got := o.leaderAfter(takeoverTimeout - renewDeadline); got != "b" {
			t.Errorf("after the expiry of the Lease: got leader %q", got)
		}
		a.partitioned.Store(false)
		if got := o.leaderAfter(time.Minute); got != "b" {
			t.Errorf("after the first replica reconnected: got leader %q", got)
		}
		b.partitioned.Store(true)
		if got := o.leaderAfter(takeoverTimeout); got != "a" {
			t.Errorf("after the second replica was partitioned: got leader %q", got)
		}
		b.stop() // a partitioned replica can stop
	})
}

// During an outage of the API server no replica leads. One does when it ends.
func TestNoLeaderWithoutAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newLeaseServer(t)
		a, b := o.run("a"), o.run("b")
		o.leaderAfter(time.Minute)
		a.partitioned.Store(true)
		b.partitioned.Store(true)
		if got := o.leaderAfter(takeoverTimeout); got != "" {
			t.Errorf("got leader %q, want none", got)
		}
		o.leaderAfter(time.Hour)
		a.partitioned.Store(false)
		b.partitioned.Store(false)
		if got := o.leaderAfter(takeoverTimeout); got == "" {
			t.Error("no replica leads after the outage")
		}
	})
}
