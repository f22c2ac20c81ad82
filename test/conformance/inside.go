package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Environment variables that make the program run as a pod.
const (
	envCase     = "ANYMESH_CONFORMANCE_CASE"
	envWorkload = "ANYMESH_CONFORMANCE_WORKLOAD"
	envSidecar  = "ANYMESH_CONFORMANCE_SIDECAR"
	envMetrics  = "ANYMESH_CONFORMANCE_METRICS"
)

// Observe sends the requests of a workload through a real sidecar, by its name, in new namespaces and returns the
// differences. It starts the current program again, so its main function must first call Inside. It requires root.
func Observe(ctx context.Context, c *Case, workload, sidecar string) ([]string, error) {
	out, err := runInside(ctx, envCase+"="+c.path, envWorkload+"="+workload, envSidecar+"="+sidecar)
	if err != nil {
		return nil, fmt.Errorf("pod of %s: %w", workload, err)
	}
	return out, nil
}

// ObserveHandshakes makes the handshakes of all combinations of TLS settings between two real Envoys in new namespaces.
// It returns the differences from the interpreter, and counts. It has the requirements of Observe.
func ObserveHandshakes(ctx context.Context, sidecar string) ([]string, error) {
	return runInside(ctx, envHandshakes+"=1", envSidecar+"="+sidecar)
}

// ObserveMetrics sends the requests as Observe does, and returns the lines of the metrics that Envoy then has for the
// agent.
func ObserveMetrics(ctx context.Context, c *Case, workload, sidecar string) ([]string, error) {
	return runInside(ctx, envCase+"="+c.path, envWorkload+"="+workload, envSidecar+"="+sidecar, envMetrics+"=1")
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

// Inside runs the requests and exits if Observe or ObserveHandshakes started this program for one of the sidecars;
// otherwise it returns. It writes each difference as a line.
func Inside(sidecars ...Sidecar) {
	name := os.Getenv(envSidecar)
	if name == "" {
		return
	}
	run := inside
	if os.Getenv(envHandshakes) != "" {
		run = insideHandshakes
	}
	err := fmt.Errorf("Inside has no sidecar %s", name)
	if at := slices.IndexFunc(sidecars, func(s Sidecar) bool { return s.Name == name }); at >= 0 {
		err = run(sidecars[at], os.Stdout)
	}
	if err != nil {
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

func insideHandshakes(s Sidecar, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return observeHandshakes(ctx, s, dir, out)
}

func inside(s Sidecar, out io.Writer) error {
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
	renderer, err := rendererFor(s.Driver, settings)
	if err != nil {
		return err
	}
	feature := model.Feature(os.Getenv(envBroken))
	if feature != "" {
		renderer = brokenDriver{renderer, feature}
	}
	m := c.translate(renderer)
	view, err := m.View(workload)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all := s.lines(c, view, workload)
	if feature != "" {
		all = noticing(feature, all, m.State.Index, view)
	}
	p, d, err := enter(ctx, s, dir, m, view, all)
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
	for _, difference := range p.checkLog(ctx, all) {
		fmt.Fprintln(out, difference)
	}
	for _, rejection := range d.rejected() {
		fmt.Fprintln(out, strings.ReplaceAll(rejection, "\n", " "))
	}
	return nil
}
