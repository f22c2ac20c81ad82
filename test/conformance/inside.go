package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/driver/grpc"
	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/sidecar"
)

// Environment variables that make the program run as a pod.
const (
	envCase     = "ANYMESH_CONFORMANCE_CASE"
	envWorkload = "ANYMESH_CONFORMANCE_WORKLOAD"
	envBinary   = "ANYMESH_CONFORMANCE_ENVOY"
	envMetrics  = "ANYMESH_CONFORMANCE_METRICS"
)

// Observe sends the requests of a workload through a real Envoy in new namespaces and returns the differences. It
// starts the current program again, so its main function must first call Inside. It requires root.
func Observe(ctx context.Context, c *Case, workload, binary string) ([]string, error) {
	out, err := runInside(ctx, envCase+"="+c.path, envWorkload+"="+workload, envBinary+"="+binary)
	if err != nil {
		return nil, fmt.Errorf("pod of %s: %w", workload, err)
	}
	return out, nil
}

// ObserveHandshakes makes the handshakes of all combinations of TLS settings between two real Envoys in new namespaces.
// It returns the differences from the interpreter, and counts. It has the requirements of Observe.
func ObserveHandshakes(ctx context.Context, binary string) ([]string, error) {
	return runInside(ctx, envHandshakes+"=1", envBinary+"="+binary)
}

// ObserveMetrics sends the requests as Observe does, and returns the lines of the metrics that Envoy then has for the
// agent.
func ObserveMetrics(ctx context.Context, c *Case, workload, binary string) ([]string, error) {
	return runInside(ctx, envCase+"="+c.path, envWorkload+"="+workload, envBinary+"="+binary, envMetrics+"=1")
}

// runInside starts the current program again in new namespaces, and returns the lines that it writes.
func runInside(ctx context.Context, env ...string) ([]string, error) {
	runtime.LockOSThread() // the namespaces end with the thread that created them
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	var errorOutput strings.Builder
	cmd.Stderr = &errorOutput
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, errorOutput.String())
	}
	var lines []string
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines, nil
}

// Inside runs the requests and exits if Observe or ObserveHandshakes started this program; otherwise it returns. It
// writes each difference as a line.
func Inside() {
	run := inside
	switch {
	case os.Getenv(envProxySocket) != "":
		run = insideProxy
	case os.Getenv(envHandshakes) != "":
		run = insideHandshakes
	case os.Getenv(envCase) == "":
		return
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeMetrics writes what Envoy answers to the agent.
func writeMetrics(ctx context.Context, url string, out io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	_, err = io.Copy(out, response.Body)
	return err
}

func insideHandshakes(out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return observeHandshakes(ctx, os.Getenv(envBinary), dir, out)
}

func inside(out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := ReadCase(os.Getenv(envCase))
	if err != nil {
		return err
	}
	workload := os.Getenv(envWorkload)
	var settings sidecar.Settings
	if os.Getenv(envWithoutIPv6) != "" {
		settings.IPv6 = sidecar.IPv6Disabled
		if err := refuseIPv6(); err != nil {
			return err
		}
	}
	var driver sidecar.Driver = envoy.Driver{}
	switch os.Getenv(envBinary) {
	case native.Name:
		driver = native.Driver{}
	case grpc.Name:
		driver = grpc.Driver{}
	}
	renderer, err := rendererFor(driver, settings)
	if err != nil {
		return err
	}
	m := c.translate(renderer)
	view, err := m.View(workload)
	if err != nil {
		return err
	}
	var own []Line
	for _, l := range c.Lines {
		if l.Workload == workload && l.Except != filepath.Base(os.Getenv(envBinary)) {
			own = append(own, l)
		}
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all := slices.Concat(own, derivedLines(view, workload, own))
	if os.Getenv(envBinary) == grpc.Name {
		all = libraryLines(view, all)
	}
	p, d, err := enter(ctx, os.Getenv(envBinary), dir, m, view, all)
	if err != nil {
		return err
	}
	if os.Getenv(envChanges) != "" {
		return observeChanges(ctx, c, renderer, workload, dir, d, out)
	}
	for _, l := range all {
		for _, difference := range p.observe(ctx, l) {
			fmt.Fprintf(out, "%s: %s\n", l, strings.ReplaceAll(difference, "\n", " "))
		}
	}
	if os.Getenv(envMetrics) != "" {
		return writeMetrics(ctx, d.metricsURL, out)
	}
	for _, difference := range checkLog(ctx, own) {
		fmt.Fprintln(out, difference)
	}
	for _, rejection := range d.rejected() {
		fmt.Fprintln(out, strings.ReplaceAll(rejection, "\n", " "))
	}
	return nil
}
