// Command push measures what a push to 200 clients costs a gRPC server: one message to each, and its acknowledgement.
//
// In: numbers of clients and pushes. It starts each server in a process of its own: grpcserver, and grpc-go with its
// defaults and with options that make it faster, and measures them in turns. Out: a table with the CPU time of the
// server for one push to one client, and JSON on the last line.
//
//	go run ./bench/push --rounds 5
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
)

// options are the flags.
type options struct {
	clients, pushes, rounds int
	serve                   string
}

// comparison is the JSON on the last line.
type comparison struct {
	Clients int `json:"clients"`
	Pushes  int `json:"pushes"`
	// Microseconds is the CPU time of each server for a push to one client: the median of the rounds.
	Microseconds map[string]float64 `json:"cpu_us_per_push"`
}

func main() {
	var o options
	flag.IntVar(&o.clients, "clients", 200, "number of clients, each with a TLS connection and a stream")
	flag.IntVar(&o.pushes, "pushes", 500, "number of pushes to all clients in a round")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each server is measured")
	flag.StringVar(&o.serve, "serve", "", "used by the benchmark itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "push:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.serve != "" {
		return serve(ctx, o.serve)
	}
	if o.clients < 1 || o.pushes < 1 || o.rounds < 1 {
		return errors.New("--clients, --pushes and --rounds must be at least 1")
	}
	all := map[string][]float64{}
	for round := range o.rounds {
		for _, s := range servers {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, s.name)
			cost, err := measure(ctx, s.name, o)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all[s.name] = append(all[s.name], cost)
		}
	}
	c := comparison{o.clients, o.pushes, map[string]float64{}}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "server\tCPU µs per push\tminimum\tmaximum")
	for _, s := range servers {
		costs := slices.Sorted(slices.Values(all[s.name]))
		c.Microseconds[s.name] = costs[len(costs)/2]
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\n", s.name, c.Microseconds[s.name], costs[0], costs[len(costs)-1])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}
