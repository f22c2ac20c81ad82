package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The leader renews the Lease every retryPeriod, and stops leading if renewal fails for renewDeadline. Another replica
// acquires the Lease if it was not renewed for leaseDuration. By then the old leader has stopped.
const (
	leaseName     = "anymesh"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// election runs the leader's work on one replica at a time: the holder of a Lease. Losing the Lease ends the work, not
// the process.
type election struct {
	kube      kubernetes.Interface
	namespace string
	// replica is the name of this replica.
	replica     string
	log         *slog.Logger
	leaderGauge prometheus.Gauge

	busy chan struct{} // full while the leader's work runs
}

func newElection(kube kubernetes.Interface, namespace, replica string, log *slog.Logger,
	metrics prometheus.Registerer) *election {
	e := &election{kube: kube, namespace: namespace, replica: replica, log: log, busy: make(chan struct{}, 1), leaderGauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "anymesh_leader",
		Help: "1 while this replica is the leader, which writes statuses and finalizers.",
	})}
	metrics.MustRegister(e.leaderGauge)
	return e
}

// run takes part in leader election until the context ends, and calls work while it leads. At the end it stops work and
// releases the Lease.
func (e *election) run(ctx context.Context, work func(context.Context)) error {
	lock,
		err := resourcelock.New(resourcelock.LeasesResourceLock, e.namespace, leaseName, e.kube.CoreV1(),
		e.kube.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: e.replica})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		// ReleaseOnCancel is not set: if the API server does not respond, it delays the end of the leader's work.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { e.runAsLeader(leading, work) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	for ctx.Err() == nil {
		elector.Run(ctx)
		e.drain() // the work ends before another replica can acquire the Lease
	}
	e.releaseLease(lock)
	return nil
}

// runAsLeader runs the work until the Lease is lost or the process stops.
func (e *election) runAsLeader(ctx context.Context, work func(context.Context)) {
	e.busy <- struct{}{}
	defer func() { <-e.busy }()
	if ctx.Err() != nil {
		return // the Lease is already lost
	}
	e.log.Info("this replica is the leader")
	e.leaderGauge.Set(1)
	work(ctx)
	e.leaderGauge.Set(0)
	e.log.Info("this replica is no longer the leader")
}

// drain waits until the leader's work has ended.
func (e *election) drain() {
	e.busy <- struct{}{}
	<-e.busy
}

// releaseLease releases the Lease if this replica holds it, so that other replicas need not wait for its expiry.
func (e *election) releaseLease(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), retryPeriod)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != e.replica {
		return // the Lease expires
	}
	now := metav1.Now()
	err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
	})
	if err != nil {
		e.log.Warn("the Lease is not released; the next leader starts when it expires", "error", err)
	}
}
