// Command demo demonstrates Anymesh: it starts a cluster, installs Anymesh, deploys the colors example from its App
// Mesh manifests, prints which versions respond while the weights of a route change, and cleans up. It fails if a
// request failed or if the traffic did not follow the weights.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder with the programs")
	folder := flag.String("example", "examples/colors", "folder with the manifests")
	sidecar := flag.String("sidecar", "envoy", "sidecar driver of the pods")
	keep := flag.Bool("keep", false, "leave the cluster running at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	d := &demo{bin: absolute(*bin), folder: *folder, sidecar: *sidecar, keep: *keep, start: time.Now(), live: isTerminal(os.Stdout)}
	err := d.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// phase is a pair of weights and a duration.
type phase struct {
	red, blue int
	look      time.Duration
}

var phases = []phase{{3, 1, 6 * time.Second}, {1, 1, 6 * time.Second}, {1, 9, 6 * time.Second}}

type demo struct {
	bin, folder, sidecar string
	keep, live           bool
	start                time.Time
	kubeconfig           string
}

func (d *demo) run(ctx context.Context) (err error) {
	d.logStep("starting a cluster")
	if err := d.up(ctx); err != nil {
		return err
	}
	if !d.keep {
		defer func() {
			d.logStep("removing the cluster")
			if downErr := d.anymesh(context.WithoutCancel(ctx), "sandbox", "down", "--name", name); err == nil {
				err = downErr
			}
			if err == nil {
				d.logStep("done")
			}
		}()
	}
	d.logStep("installing Anymesh, with sidecars of the driver " + d.sidecar)
	if err := d.anymesh(ctx, "install", "--kubeconfig", d.kubeconfig, "--set", "replicas=1",
		"--set", "osm.sidecarClass="+d.sidecar); err != nil {
		return err
	}
	d.logStep("deploying the example: front calls color (red and blue), tally and store")
	if err := d.deploy(ctx); err != nil {
		return err
	}
	for _, p := range phases {
		if err := d.runPhase(ctx, p); err != nil {
			return err
		}
	}
	if d.keep {
		fmt.Printf("\nThe cluster is still running. To use it:\n  export KUBECONFIG=%s\nTo remove it:\n  anymesh sandbox down --name %s\n", d.kubeconfig, name)
	}
	return nil
}

// logStep prints a step with the elapsed time.
func (d *demo) logStep(what string) {
	fmt.Printf("%s%5.1fs%s  %s\n", d.color(dim), time.Since(d.start).Seconds(), d.color(plain), what)
}
