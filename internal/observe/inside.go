package observe

import (
	"context"
	"fmt"
	"io"
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
)

// observe sends the requests of a workload through a real sidecar, by its name, in new namespaces and returns the
// differences. It starts the current program again, so that its main function must first call RunPod. It requires root.
func observe(ctx context.Context, c *Case, workload, sidecar string, env ...string) ([]string, error) {
	out, err := runInside(ctx, append(env, envCase+"="+c.path, envWorkload+"="+workload, envSidecar+"="+sidecar)...)
	if err != nil {
		return nil, fmt.Errorf("pod of %s: %w", workload, err)
	}
	return out, nil
}

// runInside starts the current program again in new namespaces, and returns the lines that it writes.
func runInside(ctx context.Context, env ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), env...)
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' }), nil
}

// output runs a command in new network, mount and process namespaces, and returns what it writes. The error has what it
// writes to standard error.
func output(cmd *exec.Cmd) (string, error) {
	runtime.LockOSThread() // the namespaces end with the thread that created them
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	var errorOutput strings.Builder
	cmd.Stderr = &errorOutput
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, errorOutput.String())
	}
	return string(out), nil
}

// RunPod runs a pod for one of the sidecars in this process and exits, if it was started as a pod.
func RunPod(sidecars ...Sidecar) { runPod(sidecars, inside) }

// runPod runs a function in this process and exits, if it was started as a pod of one of the sidecars. The function
// writes each difference as a line.
func runPod(sidecars []Sidecar, run func(Sidecar, io.Writer) error) {
	name := os.Getenv(envSidecar)
	if name == "" {
		return
	}
	err := fmt.Errorf("there is no sidecar %s", name)
	if at := slices.IndexFunc(sidecars, func(s Sidecar) bool { return s.Name == name }); at >= 0 {
		err = run(sidecars[at], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// caseDir creates the folder of a pod's sidecar.
func caseDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "conformance-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// casePod is this process as the pod of a workload of a case.
type casePod struct {
	*pod
	of        *Case
	workload  string
	dir       string
	renderer  sidecar.Renderer
	discovery *discovery
}

// enterCase makes this process the pod of the case and workload that its environment names.
func enterCase(ctx context.Context, s Sidecar, dir string) (*casePod, error) {
	c, err := ReadCase(os.Getenv(envCase))
	if err != nil {
		return nil, err
	}
	p := &casePod{of: c, workload: os.Getenv(envWorkload), dir: dir}
	var settings sidecar.Settings
	if os.Getenv(envWithoutIPv6) != "" {
		settings.IPv6 = sidecar.IPv6Disabled
		if err := refuseIPv6(); err != nil {
			return nil, err
		}
	}
	if p.renderer, err = rendererFor(s.Driver, settings); err != nil {
		return nil, err
	}
	feature := model.Feature(os.Getenv(envBroken))
	m := c.translate(s.Name, p.renderer, feature)
	view, err := m.View(p.workload)
	if err != nil {
		return nil, err
	}
	all := s.lines(c, view, p.workload)
	if feature != "" {
		all = noticing(feature, all, m.State.Index, view)
	}
	p.pod, p.discovery, err = enter(ctx, s, dir, m, view, all)
	return p, err
}

// inCase calls a function in the pod that enterCase makes.
func inCase(s Sidecar, do func(context.Context, *casePod) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, remove, err := caseDir()
	if err != nil {
		return err
	}
	defer remove()
	p, err := enterCase(ctx, s, dir)
	if err != nil {
		return err
	}
	return do(ctx, p)
}

// inside sends the requests of a case.
func inside(s Sidecar, out io.Writer) error {
	return inCase(s, func(ctx context.Context, p *casePod) error {
		p.writeDifferences(ctx, out)
		for _, difference := range p.checkLog(ctx, p.lines) {
			fmt.Fprintln(out, difference)
		}
		for _, rejection := range p.discovery.rejected() {
			fmt.Fprintln(out, strings.ReplaceAll(rejection, "\n", " "))
		}
		return nil
	})
}

// writeDifferences sends the requests of the pod and writes how results differ from the interpreter.
func (p *casePod) writeDifferences(ctx context.Context, out io.Writer) {
	for _, l := range p.lines {
		for _, difference := range p.observe(ctx, l) {
			fmt.Fprintf(out, "%s: %s\n", l, strings.ReplaceAll(difference, "\n", " "))
		}
	}
}
