// Command envoy measures what a weight shift costs real sidecars, and how fast it takes effect, and what their metrics
// cost.
//
// In: the Envoy binary and the size of a mesh. It runs engine, Envoy driver and xDS server in its own process, with
// App Mesh objects, and starts each Envoy with the packet rules of a pod in a network namespace of its own. A client in
// each pod sends requests over one connection. A shift moves all requests of a service from one VirtualNode to the
// other. Out: a table, and JSON on the last line. It requires root.
//
//	go run ./bench/envoy --envoy bin/envoy --services 1000
//
// With --egress ALLOW_ALL all services of the port are one RouteConfiguration, as in all meshes before routes by
// service.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"text/tabwriter"

	"golang.org/x/sys/unix"
)

// options are the flags.
type options struct {
	envoy, egress              string
	services, sidecars, shifts int
	rate                       int // requests per second of each client
}

// result is the cost of shifts. Latencies are from the change of the object.
type result struct {
	Envoy    string `json:"envoy"`
	Egress   string `json:"egress"`
	Services int    `json:"services"`
	Sidecars int    `json:"sidecars"`
	Shifts   int    `json:"shifts"`
	// CPU is the CPU time of one Envoy for one shift, without requests.
	CPU float64 `json:"envoy_cpu_ms_per_shift"`
	// Ack is the time until the last ACK, Effect the time until a client has the first response of the other
	// VirtualNode, under load.
	AckP50    float64 `json:"ack_p50_ms"`
	AckP99    float64 `json:"ack_p99_ms"`
	EffectP50 float64 `json:"effect_p50_ms"`
	EffectP99 float64 `json:"effect_p99_ms"`
	Requests  int64   `json:"requests"`
	Failed    int64   `json:"failed_requests"`
	// Closed counts connections of clients that Envoy closed.
	Closed int64   `json:"closed_connections"`
	Memory float64 `json:"envoy_mb"`
	// MetricsSize is the size of the metrics that the agent reads, MetricsCPU the CPU time of Envoy for it.
	MetricsSize float64 `json:"metrics_kb"`
	MetricsCPU  float64 `json:"metrics_cpu_ms"`
}

// envInside is set in the process that runs in the namespaces.
const envInside = "ANYMESH_BENCH_ENVOY_INSIDE"

func main() {
	var o options
	flag.StringVar(&o.envoy, "envoy", "bin/envoy", "Envoy binary")
	flag.StringVar(&o.egress, "egress", "DROP_ALL", "egress filter of the mesh: DROP_ALL or ALLOW_ALL")
	flag.IntVar(&o.services, "services", 1000, "number of services on the port, each with two VirtualNodes")
	flag.IntVar(&o.sidecars, "sidecars", 20, "number of Envoys with one worker each; at most 250")
	flag.IntVar(&o.shifts, "shifts", 200, "number of shifts without requests, and again under load")
	flag.IntVar(&o.rate, "rate", 50, "requests per second of each client")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.envoy, err = filepath.Abs(o.envoy); err != nil {
		return err
	}
	if o.sidecars < 1 || o.sidecars > 250 || o.services < 1 || o.services > 10_000 || o.shifts < 1 || o.rate < 1 {
		return errors.New("the flags must be positive, with at most 250 sidecars and 10 000 services")
	}
	if os.Getenv(envInside) == "" {
		return runInside(ctx)
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	r.table()
	return json.NewEncoder(os.Stdout).Encode(r)
}

// runInside runs this program in new network, mount and process namespaces, which end with it.
func runInside(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), envInside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	return cmd.Run()
}

func (r result) table() {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "egress\tservices\tEnvoy CPU ms\tACK p50/p99 ms\teffect p50/p99 ms\trequests\tfailed\tclosed\tEnvoy MB\tmetrics kB / CPU ms")
	fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f / %.0f\t%.0f / %.0f\t%d\t%d\t%d\t%.0f\t%.0f / %.0f\n", r.Egress, r.Services, r.CPU, r.AckP50, r.AckP99,
		r.EffectP50, r.EffectP99, r.Requests, r.Failed, r.Closed, r.Memory, r.MetricsSize, r.MetricsCPU)
	_ = t.Flush() // errors of standard output are ignored
}

// percentile returns a percentile of values, which are sorted in place.
func percentile(values []float64, percent int) float64 {
	slices.Sort(values)
	return values[len(values)*percent/100]
}
