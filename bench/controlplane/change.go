package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// changePlane is a control plane with one kind of change of its mesh. createObjects also creates the objects that the
// changes need.
type changePlane interface {
	plane
	// apply makes change i. It returns the clients that receive it; nil means all that were there at the start.
	apply(ctx context.Context, m *bench, i int) ([]int, error)
}

// kinds are the kinds of changes.
var kinds = []string{"weights", "routes", "services", "workloads", "endpoints", changeTargets}

// changeResult is the cost of one kind of change.
type changeResult struct {
	Change    string `json:"change"`
	Services  int    `json:"services"`
	Workloads int    `json:"workloads"`
	Clients   int    `json:"clients"`
	Changes   int    `json:"changes"`
	// CPU is CPU time of the control plane process. P50 and P99 are the latency from the response of the API server to
	// the last ACK.
	CPU   float64 `json:"cpu_ms_per_change"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Bytes float64 `json:"bytes_per_client"`
	// Reached is the mean number of clients that have a response to a change.
	Reached float64 `json:"clients_reached"`
	// Evaluations is the mean number of rule evaluations, of Anymesh.
	Evaluations float64 `json:"evaluations,omitempty"`
	Start       float64 `json:"start_cpu_s"`
	// Bytes is for each client that receives the change. Base is the resident memory without clients.
	Base float64 `json:"base_mb"`
	// Istiod is the result of istiod, if it was measured.
	Istiod *changeResult `json:"istiod,omitempty"`
}

// measureChange measures one kind of change with Anymesh, and with istiod if its path is given.
func measureChange(ctx context.Context, bin, peer, kind string, s size) error {
	if !slices.Contains(kinds, kind) {
		return fmt.Errorf("-change: %q is not one of %s", kind, strings.Join(kinds, ", "))
	}
	if s.reached && (kind != "workloads" || !s.group) {
		return errors.New("-reached needs -change workloads and -group")
	}
	if s.members != (kind == changeTargets) {
		return fmt.Errorf("-members and -change %s belong together", changeTargets)
	}
	r, err := changeOf(ctx, s.plane(kind), bin, kind, s)
	if err != nil {
		return err
	}
	if peer != "" {
		progress("measuring istiod")
		program, err := filepath.Abs(peer) // it runs in a different working directory
		if err != nil {
			return err
		}
		theirs, err := changeOf(ctx, istiod{program, kind}, bin, kind, s)
		if err != nil {
			return fmt.Errorf("istiod: %w", err)
		}
		r.Istiod = &theirs
	}
	r.table()
	return json.NewEncoder(os.Stdout).Encode(r)
}

// changeOf measures one kind of change with one control plane.
func changeOf(ctx context.Context, p changePlane, bin, kind string, s size) (changeResult, error) {
	r := changeResult{
		Change: kind, Services: s.services, Workloads: s.workloads, Clients: s.clients, Changes: s.changes,
	}
	m, stop, err := prepare(ctx, p, bin, s)
	if err != nil {
		return r, err
	}
	defer stop()
	idle, start, leave, err := m.connect(ctx)
	if err != nil {
		return r, err
	}
	defer leave()
	r.Base, r.Start = idle/1e6, start
	// Anymesh returns the memory of the start to the system after 5 s without a garbage collection.
	if err := m.server.settleFor(ctx, 7*time.Second); err != nil {
		return r, err
	}
	return r, m.applyAll(ctx, p, &r)
}

// applyAll makes the changes, each after the last ACK of the previous one.
func (m *bench) applyAll(ctx context.Context, p changePlane, r *changeResult) error {
	before, err := m.server.cpu()
	if err != nil {
		return err
	}
	evaluations, err := m.server.read(ctx, evaluationsMetric)
	if err != nil {
		return err
	}
	m.fleet.received.Store(0)
	m.server.profileCPU(ctx, r.Change, 10)
	var times []float64
	receiving, reached := 0, 0
	everyone := m.everyone()
	for i := range r.Changes {
		m.fleet.watch(everyone...)
		receivers, err := p.apply(ctx, m, i)
		if err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
		written := time.Now()
		if receivers == nil {
			receivers = everyone
		}
		m.fleet.watchOnly(receivers)
		receiving += len(receivers)
		last, err := m.complete(ctx)
		if err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
		times = append(times, last.Sub(written).Seconds()*1000)
		reached += m.fleet.reached()
	}
	progress("%d changes", r.Changes)
	after, err := m.server.cpu()
	slices.Sort(times)
	n := float64(r.Changes)
	r.CPU, r.P50, r.P99 = (after-before)*1000/n, times[len(times)/2], times[len(times)*99/100]
	r.Bytes, r.Reached = float64(m.fleet.received.Load())/float64(receiving), float64(reached)/n
	if err != nil {
		return err
	}
	total, err := m.server.read(ctx, evaluationsMetric)
	r.Evaluations = (total[0] - evaluations[0]) / n
	return err
}

// evaluationsMetric counts the rules that Anymesh evaluates.
const evaluationsMetric = "anymesh_engine_evaluations_total"

// everyone returns the numbers of the clients that are there at the start.
func (m *bench) everyone() []int {
	out := make([]int, m.clients)
	for i := range out {
		out[i] = i
	}
	return out
}

// receivers returns the clients that receive a new workload: its own one, and all others if they reach it.
func (m *bench) receivers(own int) []int {
	if m.reached {
		return append(m.everyone(), own)
	}
	return []int{own}
}

// complete waits until the watched clients have the change.
func (m *bench) complete(ctx context.Context) (time.Time, error) {
	limit := time.After(waitTimeout)
	for {
		if last, done := m.fleet.complete(); done {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-limit:
			return time.Time{}, errors.Join(errors.New("clients have no response"), m.server.check())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r changeResult) table() {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "change: %s\tCPU ms\tp50 ms\tp99 ms\tbytes per client\tclients reached\tevaluations\tstart CPU-s\tMB without clients\n", r.Change)
	r.row(t, "anymesh")
	if r.Istiod != nil {
		r.Istiod.row(t, "istiod")
	}
	_ = t.Flush() // errors of standard output are ignored
}

func (r changeResult) row(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\n", name, r.CPU, r.P50, r.P99, r.Bytes, r.Reached,
		r.Evaluations, r.Start, r.Base)
}
