// Package controlplane runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one cluster in this
// process.
//
// In: the plan of the lab, the cluster, and its keys on disk. Out: a running control plane on the node address, with
// the objects that a new cluster needs (DNS Service, roles). There is one process per cluster, because upstream code
// has process-wide state.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// Run starts the control plane and blocks until ctx ends or a component fails.
func Run(ctx context.Context, lab plan.Lab, c plan.Cluster) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	etcd, etcdURL, err := startEtcd(ctx, lab.ClusterDir(c))
	if err != nil {
		return err
	}
	defer etcd.Close()

	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	run := func(name string, f func(context.Context) error) {
		wg.Go(func() {
			err := f(ctx)
			if ctx.Err() == nil {
				if err == nil {
					err = errors.New("exited unexpectedly")
				}
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	pki := func(name string) string { return filepath.Join(lab.PKIDir(c), name) }
	api, err := apiServer(ctx, c, etcdURL, pki)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	run("kube-apiserver", api)
	client, err := waitReady(ctx, pki("admin.kubeconfig"))
	if err != nil {
		return err
	}
	if !lab.APIServerOnly {
		managers, err := controllerManager(ctx, pki)
		if err != nil {
			return fmt.Errorf("kube-controller-manager: %w", err)
		}
		run("kube-controller-manager", managers)
		sched, err := scheduler(ctx, pki)
		if err != nil {
			return fmt.Errorf("kube-scheduler: %w", err)
		}
		run("kube-scheduler", sched)
	}
	if err := bootstrap(ctx, client, c); err != nil {
		return err
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
