// Command proxy compares the multi-protocol proxy with HAProxy, nginx and Envoy.
//
// In: the binaries. It runs them in turn, each with one thread on one core; load and servers run on another core. Out:
// a table of CPU time per request, of bulk data per CPU second, of packets per CPU second, memory and start time; JSON
// on the last line. It needs two cores.
//
//	go run ./bench/proxy --bin bin --peers .cache/proxies
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
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// options are the flags.
type options struct {
	bin, peers, only string
	rounds           int
	each             time.Duration
}

// figures are what is measured of one proxy; lists have one value for each round.
type figures struct {
	http1           map[int][]float64 // µs of CPU per request, by connections
	http2           []float64         // µs of CPU per request of HTTP/2, which is HTTP/1 to the server
	bulk            []float64         // Gb per CPU second
	packets         float64           // per CPU second
	loss            float64           // share of packets lost at 50 000 per second
	rss, readyMilli float64
}

// result is the last line. Ratios below 1 are in favor of the proxy for CPU times, above 1 for bulk data.
type result struct {
	HTTP1HAProxy float64            `json:"http1_vs_haproxy"`
	HTTP1Nginx   float64            `json:"http1_vs_nginx"`
	HTTP1Envoy   float64            `json:"http1_vs_envoy"`
	HTTP2Envoy   float64            `json:"http2_vs_envoy"`
	HTTP2HAProxy float64            `json:"http2_vs_haproxy"`
	BulkHAProxy  float64            `json:"tcp_bulk_vs_haproxy"`
	UDPPackets   float64            `json:"udp_pps_per_core"`
	UDPLoss      float64            `json:"udp_loss_at_50k"`
	RSS          float64            `json:"rss_mb"`
	Ready        float64            `json:"ready_ms"`
	HTTP1        map[string]float64 `json:"http1_us_at_64"`
}

// The cores: of the proxy, and of everything else.
const (
	proxyCore = 0
	loadCore  = 1
)

// envPinned is set in the process that runs on the core of the load.
const envPinned = "ANYMESH_BENCH_PROXY_PINNED"

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of anymesh-proxy and envoy")
	flag.StringVar(&o.peers, "peers", ".cache/proxies", "folder of the unpacked packages of HAProxy and nginx")
	flag.StringVar(&o.only, "only", "", "comma-separated parts: http1, http2, bulk, udp, start; all if empty")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; the medians count")
	flag.DurationVar(&o.each, "time", 2*time.Second, "time of each measurement")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if runtime.NumCPU() < 2 && os.Getenv(envPinned) == "" {
		return errors.New("it needs two cores")
	}
	if os.Getenv(envPinned) == "" {
		return pinned(ctx)
	}
	for _, path := range []*string{&o.bin, &o.peers} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	all, err := measure(ctx, o)
	if err != nil {
		return err
	}
	table(all)
	return json.NewEncoder(os.Stdout).Encode(summary(all))
}

// pinned runs this program on the core of the load. What it starts sets its own core.
func pinned(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var cores unix.CPUSet
	cores.Set(loadCore)
	if err := unix.SchedSetaffinity(0, &cores); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), envPinned+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func table(all map[string]*figures) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "proxy\tHTTP/1 µs c=1\tc=64\tc=512\tHTTP/2 µs 4x25\tTCP Gb/CPU-s\tUDP packets/CPU-s\tloss at 50k\tRSS MB\tready ms")
	for _, name := range names {
		f := all[name]
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.4f\t%.1f\t%.1f\n", name, median(f.http1[1]), median(f.http1[64]),
			median(f.http1[512]), median(f.http2), median(f.bulk), f.packets, f.loss, f.rss, f.readyMilli)
	}
	_ = t.Flush() // errors of standard output are ignored
}

func summary(all map[string]*figures) result {
	ours := all[own]
	r := result{
		UDPPackets: ours.packets, UDPLoss: ours.loss, RSS: ours.rss, Ready: ours.readyMilli,
		BulkHAProxy: ratio(median(ours.bulk), median(all["haproxy"].bulk)), HTTP1: map[string]float64{},
	}
	r.HTTP2Envoy = ratio(median(ours.http2), median(all["envoy"].http2))
	r.HTTP2HAProxy = ratio(median(ours.http2), median(all["haproxy"].http2))
	for name, to := range map[string]*float64{"haproxy": &r.HTTP1HAProxy, "nginx": &r.HTTP1Nginx, "envoy": &r.HTTP1Envoy} {
		*to = ratio(median(ours.http1[64]), median(all[name].http1[64]))
	}
	for name, f := range all {
		r.HTTP1[name] = median(f.http1[64])
	}
	return r
}

// ratio returns a/b; 0 if it was not measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
