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

// Who holds the Lease renews it each retryPeriod, and stops to work when that has failed for renewDeadline. Others take it when it was
// not renewed for leaseDuration: then nobody works any more.
const (
	leaseName     = "anymesh"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// election lets one replica at a time work: the holder of a Lease. Losing the Lease ends the work, not the replica.
type election struct {
	kube      kubernetes.Interface
	namespace string
	// replica is the name of this one.
	replica     string
	log         *slog.Logger
	leaderGauge prometheus.Gauge

	busy chan struct{} // full while this replica works
}

func newElection(kube kubernetes.Interface, namespace, replica string, log *slog.Logger, metrics prometheus.Registerer) *election {
	e := &election{kube: kube, namespace: namespace, replica: replica, log: log, busy: make(chan struct{}, 1), leaderGauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "anymesh_leader", Help: "1 while this replica is the one that writes statuses and releases objects, of all replicas.",
	})}
	metrics.MustRegister(e.leaderGauge)
	return e
}

// run works whenever it may, until the context ends. Then it ends the work, and hands the Lease on.
func (e *election) run(ctx context.Context, work func(context.Context)) error {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.namespace, leaseName, e.kube.CoreV1(), e.kube.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: e.replica})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		// ReleaseOnCancel would ask an API server that does not answer to release a Lease, and go on working meanwhile.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { e.lead(leading, work) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	for ctx.Err() == nil {
		elector.Run(ctx)
		e.drain() // which ends with the Lease, before anybody else can have it
	}
	e.releaseLease(lock)
	return nil
}

// lead works until the Lease is lost or the replica is stopped.
func (e *election) lead(ctx context.Context, work func(context.Context)) {
	e.busy <- struct{}{}
	defer func() { <-e.busy }()
	if ctx.Err() != nil {
		return // it was a short one
	}
	e.log.Info("this replica writes status now")
	e.leaderGauge.Set(1)
	work(ctx)
	e.leaderGauge.Set(0)
	e.log.Info("this replica no longer writes status")
}

// drain returns when no work is under way.
func (e *election) drain() {
	e.busy <- struct{}{}
	<-e.busy
}

// releaseLease hands the Lease on, if it is ours: the others need not wait for its end.
func (e *election) releaseLease(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), retryPeriod)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != e.replica {
		return // it ends by itself
	}
	now := metav1.Now()
	err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
	})
	if err != nil {
		e.log.Warn("the Lease is not released; the next replica works when it has ended", "error", err)
	}
}
