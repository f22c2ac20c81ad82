package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// startTimeout limits the time until an Envoy is ready.
const startTimeout = time.Minute

// proxy is an Envoy in a pod.
type proxy struct {
	network    *podNetwork
	process    *exec.Cmd
	log        bytes.Buffer
	metricsURL string
}

// startProxy starts the Envoy of a workload with the command and files of the driver, and returns when it is ready.
func startProxy(ctx context.Context, binary string, n *podNetwork, w model.Workload,
	discovery *net.TCPAddr) (*proxy, error) {
	injector := &sidecar.InjectorContext{
		Context: ctx, OsmNamespace: "anymesh-system", Workload: w, Node: w.NodeID,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: "envoy"}},
	}
	if err := (envoy.Driver{}).Patch(injector); err != nil {
		return nil, err
	}
	spec := injector.Sidecar
	dir, err := os.MkdirTemp("", "bench-envoy-")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = os.RemoveAll(dir) }) // a temporary folder
	config, err := bootstrap(spec.Files["envoy.json"], dir, discovery)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "envoy.json"), config, 0o644),
		os.Chown(dir, sidecar.UID, sidecar.UID)); err != nil {
		return nil, err
	}
	arguments := append([]string{}, spec.Command[1:]...)
	for i, a := range arguments {
		arguments[i] = strings.Replace(a, sidecar.FilesDir, dir, 1)
		if i > 0 && arguments[i-1] == "--concurrency" {
			arguments[i] = "1"
		}
	}
	p := &proxy{network: n, process: exec.CommandContext(ctx, binary, arguments...), metricsURL: spec.MetricsURL}
	p.process.Stdout, p.process.Stderr, p.process.Dir = &p.log, &p.log, "/"
	p.process.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sidecar.UID, Gid: sidecar.UID}}
	if err := n.inside(p.process.Start); err != nil {
		return nil, err
	}
	return p, p.ready(ctx, spec.ReadyURL)
}

// ready waits until the Envoy has its configuration.
func (p *proxy) ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := p.client()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close() // nothing was written to it
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Envoy is not ready: %w\n%s", ctx.Err(), p.log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cpu returns the CPU time of the process in milliseconds.
func (p *proxy) cpu() (float64, error) {
	const hertz = 100 // of the clock in /proc, on all platforms of Linux that Go has
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	total := 0.0
	for _, i := range []int{11, 12} { // utime and stime, see proc_pid_stat(5)
		ticks, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return 0, err
		}
		total += ticks
	}
	return total * 1000 / hertz, nil
}

// memory returns the resident memory of the process in MB.
func (p *proxy) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6, err
}
