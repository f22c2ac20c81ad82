package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/internal/identity"
)

// result is what was measured. CPU is that of the control plane's process.
type result struct {
	// CPU is for 1000 changes, one at a time; P50 and P99 are from the API server's answer to the change until the last
	// client has acknowledged it.
	CPU  float64 `json:"cpu_s_per_1000_changes"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	Wire float64 `json:"wire_bytes_per_change"`
	// KB is by how much the process grows, as the system sees it, for each client that has connected and got its
	// changes; LiveKB is what of that lives on its heap and stacks.
	KB     float64 `json:"kb_per_client"`
	LiveKB float64 `json:"live_kb_per_client"`
	Cold   float64 `json:"cold_start_cpu_s"`
	// BurstCPU is for 1000 changes as fast as the API server takes them.
	BurstCPU float64 `json:"cpu_s_per_1000_changes_at_once"`
	// Floor is what CPU would be if the server did nothing but send and receive.
	Floor float64 `json:"floor_cpu_s_per_1000_changes,omitempty"`
	// Istiod is what the peer needs for the same, if it was measured.
	Istiod *result `json:"istiod,omitempty"`

	// BurstSeconds is how long those changes took, Base what the system sees the server hold before there are clients,
	// in MB.
	BurstSeconds float64 `json:"at_once_s"`
	Base         float64 `json:"base_mb"`
}

func encodeKey(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) }

func measure(ctx context.Context, p plane, bin string, s size, singly int) (r result, err error) {
	m, stop, err := prepare(ctx, p, bin, s)
	if err != nil {
		return r, err
	}
	defer stop()
	return r, m.all(ctx, &r, singly)
}

// prepare makes a mesh, a control plane that knows it, and clients that are not connected yet.
func prepare(ctx context.Context, p plane, bin string, s size) (m *bench, stop func(), err error) {
	progress("%d services with 2 endpoints, %d clients in %d workloads", s.services, s.clients, s.workloads)
	c, err := startCluster(ctx, bin)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if err := c.begin(ctx, s); err != nil {
		return nil, nil, err
	}
	if err := p.fill(ctx, c, s); err != nil {
		return nil, nil, err
	}
	kube, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, nil, err
	}
	keeper, err := identity.OpenCAStore(ctx, kube,
		identity.CAStoreOptions{Namespace: system, TrustDomain: "cluster.local"})
	if err != nil {
		return nil, nil, err
	}
	f, err := newFleet(ctx, p, c, keeper.Current(), s)
	if err != nil {
		return nil, nil, err
	}
	server, err := p.start(ctx, c, keeper.Current())
	if err != nil {
		return nil, nil, err
	}
	return &bench{c, p, server, f, s}, func() { server.stop(); c.stop() }, nil
}

// bench is a server and clients, ready to be measured.
type bench struct {
	*cluster
	plane  plane
	server *server
	fleet  *fleet
	size
}

// all measures everything, with so many changes one at a time.
func (m *bench) all(ctx context.Context, r *result, singly int) error {
	if err := m.server.settle(ctx); err != nil {
		return err
	}
	ready, err := m.server.cpu()
	if err != nil {
		return err
	}
	idle, err := m.server.resident(ctx)
	if err != nil {
		return err
	}
	r.Base = idle / 1e6
	progress("the control plane is ready, after %.1f CPU-s", ready)
	before, err := m.server.cpu()
	if err != nil {
		return err
	}
	synced := m.fleet.expect(m.clusters(m.plane))
	leave := sync.OnceFunc(m.fleet.start(ctx))
	defer leave()
	if _, err := m.await(ctx, synced); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	after, err := m.server.cpu()
	if err != nil {
		return err
	}
	r.Cold = ready + after - before
	progress("all clients are in sync")
	if err := errors.Join(m.server.settle(ctx), m.oneByOne(ctx, r, singly), m.server.settle(ctx)); err != nil {
		return err
	}
	steady, err := m.server.resident(ctx)
	if err != nil {
		return err
	}
	r.KB = (steady - idle) / 1000 / float64(m.clients)
	if err := errors.Join(m.atOnce(ctx, r), m.server.settle(ctx)); err != nil {
		return err
	}
	with, err := m.server.memory(ctx, "with-clients")
	if err != nil {
		return err
	}
	leave()
	if err := m.server.settle(ctx); err != nil {
		return err
	}
	without, err := m.server.memory(ctx, "without-clients")
	r.LiveKB = (with - without) / 1000 / float64(m.clients)
	return err
}

// oneByOne makes changes, each when the last client has acknowledged the one before.
func (m *bench) oneByOne(ctx context.Context, r *result, changes int) error {
	cpu, err := m.server.cpu()
	if err != nil {
		return err
	}
	m.fleet.received.Store(0)
	var times []float64
	for i := range changes {
		service := i * 7 % m.services
		synced := m.fleet.expect([]string{m.plane.clusterName(service)})
		if err := m.plane.setReady(ctx, m.cluster, service, 0, i/m.services%2 == 1); err != nil {
			return err
		}
		written := time.Now()
		last, err := m.await(ctx, synced)
		if err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
		times = append(times, last.Sub(written).Seconds()*1000)
	}
	after, err := m.server.cpu()
	slices.Sort(times)
	r.CPU = (after - cpu) / float64(changes) * 1000
	r.P50, r.P99 = times[len(times)/2], times[len(times)*99/100]
	r.Wire = float64(m.fleet.received.Load()) / float64(changes)
	progress("%d changes, one at a time", changes)
	return err
}

// atOnce makes a change to each of as many services as there are changes, as fast as the API server takes them.
func (m *bench) atOnce(ctx context.Context, r *result) error {
	cpu, err := m.server.cpu()
	if err != nil {
		return err
	}
	n := min(m.changes, m.services)
	synced, start := m.fleet.expect(m.clusters(m.plane)[:n]), time.Now()
	err = each(ctx, n, func(ctx context.Context, i int) error { return m.plane.setReady(ctx, m.cluster, i, 1, false) })
	if err != nil {
		return err
	}
	last, err := m.await(ctx, synced)
	if err != nil {
		return fmt.Errorf("%d changes at once: %w", n, err)
	}
	after, err := m.server.cpu()
	r.BurstCPU, r.BurstSeconds = (after-cpu)/float64(n)*1000, last.Sub(start).Seconds()
	progress("%d changes at once", n)
	return err
}

func (m *bench) await(ctx context.Context, synced <-chan time.Time) (time.Time, error) {
	select {
	case last := <-synced:
		return last, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(patience):
		return time.Time{}, fmt.Errorf("%d lists of endpoints did not reach their clients\n%s", m.fleet.left,
			m.server.log.String())
	}
}
