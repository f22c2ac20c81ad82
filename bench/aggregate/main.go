// Command aggregate measures the aggregator, and a kube-apiserver that has the union of the objects beside it.
//
// In: a folder with the programs anymesh and anymesh-sandbox. A kube-apiserver is filled with pods. Ten virtual
// clusters, which this process serves over TLS, have the same pods: each is the API server of a tenth of the nodes. The
// aggregator runs as a process with its defaults. Clients are in this process. CPU time and memory are those of the
// servers only, and the kube-apiserver is a process with its etcd. Each client checks what it got: stores equal the
// union, and no event is lost. Out: tables, and JSON on the last line. It requires root, to reach the kube-apiserver
// without the relay of the sandbox.
//
//	go run ./bench/aggregate --bin bin
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	bin, only, profiles   string
	pods, large, watchers int
	rounds                int
}

// runs reports whether a cell was selected.
func (o options) runs(cell string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), cell)
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of anymesh and anymesh-sandbox")
	flag.StringVar(&o.only, "only", "", "cells to run, such as B1,B2; all if empty")
	flag.StringVar(&o.profiles, "profiles", "", "folder for CPU profiles of the aggregator; none if empty")
	flag.IntVar(&o.pods, "pods", 10_000, "number of pods, a multiple of 1000")
	flag.IntVar(&o.large, "large", 100_000, "number of pods of the second measurement of memory, a multiple of --pods; 0 for none")
	flag.IntVar(&o.watchers, "watchers", 1000, "number of watches")
	flag.IntVar(&o.rounds, "rounds", 5, "number of rounds of the cells that compare rounds")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.pods < 1000 || o.pods%1000 != 0 || o.large%o.pods != 0 || o.watchers < 10 || o.rounds < 1 {
		return errors.New("--pods is a multiple of 1000, --large one of --pods, --watchers at least 10, --rounds at least 1")
	}
	b, err := newBench(ctx, o)
	if b != nil {
		defer b.stop()
	}
	if err != nil {
		return err
	}
	for _, cell := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"B2", b.lists}, {"B3", b.watches}, {"B4", b.informers}, {"B5", b.deadCluster}, {"B6", b.membership},
		{"B7", b.latency}, {"B8", b.reconnects}, {"B1", b.large},
	} {
		if !o.runs(cell.name) {
			continue
		}
		if err := cell.run(ctx); err != nil {
			b.result.tables(os.Stdout)
			return fmt.Errorf("%s: %w", cell.name, err)
		}
	}
	b.result.tables(os.Stdout)
	return json.NewEncoder(os.Stdout).Encode(b.result)
}

var started = time.Now()

// progress prints a line with the seconds since the start.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

// percentile returns a percentile of values, which are sorted in place.
func percentile(values []float64, percent int) float64 {
	slices.Sort(values)
	return values[min(len(values)*percent/100, len(values)-1)]
}
