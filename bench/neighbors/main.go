// Command neighbors measures what an attack by plain pods costs a mesh.
//
// In: the programs in a folder, and the size of a mesh. It starts a cluster with Anymesh, services and sidecars, and
// measures the same twice: quiet, and while test/attacker attacks the control plane and a sidecar from the networks of
// two plain pods, with half a core in all. Out: a table, and JSON on the last line. It requires root.
//
//	make all bin/attacker
//	go run ./bench/neighbors --duration 1m
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
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	bin                string
	services, sidecars int
	rate               int // calls per second of each sidecar
	duration           time.Duration
	inside             bool // whether this process runs on the node
}

// comparison is the JSON on the last line.
type comparison struct {
	Services int    `json:"services"`
	Sidecars int    `json:"sidecars"`
	Quiet    result `json:"quiet"`
	Attacked result `json:"attacked"`
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder with anymesh, images and attacker")
	flag.IntVar(&o.services, "services", 50, "number of services")
	flag.IntVar(&o.sidecars, "sidecars", 20, "number of services that have a pod with a sidecar; the others have two endpoints without a process")
	flag.IntVar(&o.rate, "rate", 10, "calls per second of each sidecar")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long each half takes")
	flag.BoolVar(&o.inside, "inside", false, "used by the benchmark itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "neighbors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.services < o.sidecars || o.sidecars < 1 || o.duration < time.Second {
		return errors.New("--services must be at least --sidecars, --sidecars at least 1, and --duration at least 1s")
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.inside {
		return measureOnNode(ctx, o)
	}
	c := &cluster{bin: o.bin, name: fmt.Sprintf("neighbors-%d", os.Getpid())}
	defer func() { err = errors.Join(err, c.down()) }()
	if err := c.up(ctx, o); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	node := exec.CommandContext(ctx, filepath.Join(o.bin, "anymesh"), "sandbox", "exec", "--name", c.name, "--", self, "--inside",
		"--bin", o.bin, "--services", fmt.Sprint(o.services), "--sidecars", fmt.Sprint(o.sidecars), "--rate", fmt.Sprint(o.rate),
		"--duration", o.duration.String())
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	return node.Run()
}

// measureOnNode measures both halves and prints them.
func measureOnNode(ctx context.Context, o options) error {
	m, err := newMesh(o)
	if err != nil {
		return err
	}
	c := comparison{Services: o.services, Sidecars: o.sidecars}
	fmt.Fprintf(os.Stderr, "measuring without an attack for %v\n", o.duration)
	if c.Quiet, err = m.measure(ctx, nil); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "measuring under attack for %v\n", o.duration)
	if c.Attacked, err = m.measure(ctx, m.attack); err != nil {
		return err
	}
	c.table(os.Stdout)
	return json.NewEncoder(os.Stdout).Encode(c)
}
