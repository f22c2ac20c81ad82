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

// result is the result of a measurement. CPU values are CPU-seconds of the control plane process.
type result struct {
	// CPU is for 1000 sequential changes. P50 and P99 are the latency from the response of the API server to the last
	// ACK.
	CPU  float64 `json:"cpu_s_per_1000_changes"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	Wire float64 `json:"wire_bytes_per_change"`
	// First is the resident memory with a sidecar of each workload and its agent, in MB: what clients share is kept while
	// there is one. KB is the growth of the resident memory per client after them; LiveKB is the part on the live heap and
	// stacks.
	First  float64 `json:"first_clients_mb"`
	KB     float64 `json:"kb_per_client"`
	LiveKB float64 `json:"live_kb_per_client"`
	Cold   float64 `json:"cold_start_cpu_s"`
	// BurstCPU is for 1000 concurrent changes.
	BurstCPU float64 `json:"cpu_s_per_1000_changes_at_once"`
	// Floor is the CPU for the same bytes on plain TLS connections.
	Floor float64 `json:"floor_cpu_s_per_1000_changes,omitempty"`
	// Istiod is the result of istiod, if it was measured.
	Istiod *result `json:"istiod,omitempty"`

	// BurstSeconds is the duration of the concurrent changes. Base is the resident memory without clients, in MB.
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
	return r, m.measureAll(ctx, &r, singly)
}

// prepare creates a mesh, starts a control plane, and creates clients without connecting them.
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
	if err := c.createObjects(ctx, s); err != nil {
		return nil, nil, err
	}
	if err := p.createObjects(ctx, c, s); err != nil {
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
	server.profileCPU(ctx, "start", 10)
	return &bench{cluster: c, plane: p, server: server, fleet: f, size: s}, func() { server.stop(); c.stop() }, nil
}

// bench is a control plane with clients.
type bench struct {
	*cluster
	plane  plane
	server *server
	fleet  *fleet
	size
	// With firstApart, connect connects a client of each workload before the others. shared is the resident memory with
	// them, in bytes.
	firstApart bool
	shared     float64
}

// measureAll runs all measurements, with the given number of sequential changes.
func (m *bench) measureAll(ctx context.Context, r *result, singly int) error {
	var idle float64
	var err error
	var leave func()
	m.firstApart = true
	if idle, r.Cold, leave, err = m.connect(ctx); err != nil {
		return err
	}
	defer leave()
	r.Base, r.First = idle/1e6, m.shared/1e6
	if err := errors.Join(m.server.settle(ctx), m.sequential(ctx, r, singly), m.server.settle(ctx)); err != nil {
		return err
	}
	steady, err := m.server.resident(ctx)
	if err != nil {
		return err
	}
	if _, others := m.fleet.firstClients(); len(others) > 0 {
		r.KB = (steady - m.shared) / 1000 / float64(len(others))
	}
	if err := errors.Join(m.concurrent(ctx, r), m.server.settle(ctx)); err != nil {
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
	r.LiveKB = (with - without) / 1000 / m.fleet.connected()
	return err
}

// connect waits until the control plane is idle, and connects the clients. idle is the resident memory without clients
// in bytes, cold the CPU time until all clients are in sync. leave disconnects the clients.
func (m *bench) connect(ctx context.Context) (idle, cold float64, leave func(), err error) {
	if err := m.server.settle(ctx); err != nil {
		return 0, 0, nil, err
	}
	ready, err := m.server.cpu()
	if err != nil {
		return 0, 0, nil, err
	}
	if idle, err = m.server.resident(ctx); err != nil {
		return 0, 0, nil, err
	}
	progress("control plane ready after %.1f CPU-s", ready)
	if profiles != "" {
		if _, err := m.server.memory(ctx, "ready"); err != nil {
			return 0, 0, nil, err
		}
	}
	before, err := m.server.cpu()
	if err != nil {
		return 0, 0, nil, err
	}
	synced := m.fleet.expect(m.first(m.services)...)
	first, others := m.fleet.firstClients()
	leaveFirst, leaveOthers := m.fleet.start(ctx, first), func() {}
	leave = sync.OnceFunc(func() { leaveFirst(); leaveOthers() })
	if m.firstApart {
		if err := m.server.settle(ctx); err != nil {
			leave()
			return 0, 0, nil, err
		}
		if m.shared, err = m.server.resident(ctx); err != nil {
			leave()
			return 0, 0, nil, err
		}
	}
	leaveOthers = m.fleet.start(ctx, others)
	if _, err := m.await(ctx, synced); err != nil {
		leave()
		return 0, 0, nil, fmt.Errorf("start: %w", err)
	}
	after, err := m.server.cpu()
	if err != nil {
		leave()
		return 0, 0, nil, err
	}
	progress("clients in sync")
	if profiles != "" {
		if _, err := m.server.memory(ctx, "connected"); err != nil {
			leave()
			return 0, 0, nil, err
		}
	}
	return idle, ready + after - before, leave, nil
}

// sequential makes changes, each after the last ACK of the previous change.
func (m *bench) sequential(ctx context.Context, r *result, changes int) error {
	cpu, err := m.server.cpu()
	if err != nil {
		return err
	}
	m.fleet.received.Store(0)
	var times []float64
	for i := range changes {
		service := i * 7 % m.services
		synced := m.fleet.expect(service)
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
	progress("%d sequential changes", changes)
	return err
}

// concurrent changes one endpoint of each service as fast as the API server accepts the changes.
func (m *bench) concurrent(ctx context.Context, r *result) error {
	cpu, err := m.server.cpu()
	if err != nil {
		return err
	}
	n := min(m.changes, m.services)
	synced, start := m.fleet.expect(m.first(n)...), time.Now()
	err = each(ctx, n, func(ctx context.Context, i int) error { return m.plane.setReady(ctx, m.cluster, i, 1, false) })
	if err != nil {
		return err
	}
	last, err := m.await(ctx, synced)
	if err != nil {
		return fmt.Errorf("%d concurrent changes: %w", n, err)
	}
	after, err := m.server.cpu()
	r.BurstCPU, r.BurstSeconds = (after-cpu)/float64(n)*1000, last.Sub(start).Seconds()
	progress("%d concurrent changes", n)
	return err
}

func (m *bench) await(ctx context.Context, synced <-chan time.Time) (time.Time, error) {
	select {
	case last := <-synced:
		return last, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(waitTimeout):
		return time.Time{}, fmt.Errorf("%d endpoint resources were not acknowledged by their clients\n%s", m.fleet.left,
			m.server.log.String())
	}
}
