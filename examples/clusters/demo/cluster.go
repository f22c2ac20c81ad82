package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// name is the name of the sandbox.
const name = "demo-clusters"

var clusters = []string{"c1", "c2"}

// waitTimeout limits each wait.
const waitTimeout = time.Minute

type demo struct {
	bin, folder, temporary string
	start                  time.Time
	processes              []*exec.Cmd
	watch                  watchOutput
}

// step prints a step with the elapsed time.
func (d *demo) step(what string) { fmt.Printf("%5.1fs  %s\n", time.Since(d.start).Seconds(), what) }

// kubeconfig is the file of a cluster, or of the aggregator.
func (d *demo) kubeconfig(of string) string { return filepath.Join(d.temporary, of) }

// up starts the clusters and replaces those that an earlier demo left.
func (d *demo) up(ctx context.Context) error {
	d.step("starting two clusters")
	_ = d.down(ctx) // they usually do not exist
	if _, err := d.anymesh(ctx, "sandbox", "up", "--name", name, "--clusters", fmt.Sprint(len(clusters))); err != nil {
		return err
	}
	for _, c := range clusters {
		text, err := d.anymesh(ctx, "sandbox", "kubectl", "--name", name, "--cluster", c, "--", "config", "view", "--raw")
		if err != nil {
			return err
		}
		if err := os.WriteFile(d.kubeconfig(c), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) down(ctx context.Context) error {
	_, err := d.anymesh(ctx, "sandbox", "down", "--name", name)
	return err
}

// aggregate joins the clusters and starts the aggregator, with c1 as control plane.
func (d *demo) aggregate(ctx context.Context) error {
	d.step("joining the clusters, and starting the aggregator")
	for _, c := range clusters {
		if _, err := d.anymesh(ctx, "cluster", "join", c, "--kubeconfig", d.kubeconfig("c1"), "--member-kubeconfig",
			d.kubeconfig(c)); err != nil {
			return err
		}
	}
	server := exec.Command(filepath.Join(d.bin, "anymesh"), "aggregator", "--kubeconfig", d.kubeconfig("c1"), "--address",
		"127.0.0.1:0", "--metrics-address", "", "--probe-interval", "1s", "--log-level", "error", "--write-kubeconfig",
		d.kubeconfig("all"))
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return err
	}
	d.processes = append(d.processes, server)
	return d.eventually(ctx, "the kinds are registered", func() error {
		_, err := d.kubectl(ctx, "apply", "-f", filepath.Join(d.folder, "registry.yaml"))
		return err
	})
}

func (d *demo) stopProcesses() {
	for _, p := range d.processes {
		_ = p.Process.Signal(os.Interrupt) // it may have ended
		_ = p.Wait()
	}
}

// createPod creates a pod that prints lines, directly in a cluster.
func (d *demo) createPod(ctx context.Context, cluster, pod string) error {
	_, err := d.kubectlOf(ctx, cluster, "run", pod, "--image", "example.com/sh", "--restart=Never", "--command", "--",
		"/bin/sh", "-c", "while echo line from "+pod+"; do sleep 1; done")
	return err
}

// pods returns the columns READY and STATUS of each pod.
func (d *demo) pods(ctx context.Context) (map[string]string, error) {
	out, err := d.kubectl(ctx, "get", "pods", "--no-headers")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		if columns := strings.Fields(line); len(columns) > 2 {
			all[columns[0]] = columns[1] + " " + columns[2]
		}
	}
	return all, nil
}

// sees returns an error unless a list has all the pods, each with its name, READY and STATUS.
func (d *demo) sees(ctx context.Context, want ...string) error {
	got, err := d.pods(ctx)
	for _, w := range want {
		pod, state, _ := strings.Cut(w, " ")
		if err == nil && got[pod] != state {
			err = fmt.Errorf("pods: %v, want %s", got, w)
		}
	}
	return err
}

// show prints a command and its output.
func (d *demo) show(ctx context.Context, args ...string) error {
	fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
	out, err := d.kubectl(ctx, args...)
	fmt.Println(out)
	return err
}

func (d *demo) showClusters(ctx context.Context) error {
	fmt.Println("\n$ anymesh cluster list")
	out, err := d.anymesh(ctx, "cluster", "list", "--kubeconfig", d.kubeconfig("c1"))
	fmt.Println(out)
	return err
}

func (d *demo) eventually(ctx context.Context, what string, check func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, errors.New("timeout"))
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	return d.kubectlOf(ctx, "all", args...)
}

func (d *demo) kubectlOf(ctx context.Context, of string, args ...string) (string, error) {
	return d.anymesh(ctx, d.kubectlArgs(of, args)...)
}

func (d *demo) kubectlArgs(of string, args []string) []string {
	return append([]string{"sandbox", "kubectl", "--name", name, "--", "--kubeconfig", d.kubeconfig(of)}, args...)
}

// anymesh runs the program and returns its standard output. The error contains its standard error.
func (d *demo) anymesh(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(d.bin, "anymesh"), args...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("anymesh %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}
