package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// startTimeout limits the time until a sidecar is ready.
const startTimeout = 30 * time.Second

// Sidecar is what the tests are about: a driver, and the program of its sidecar.
type Sidecar struct {
	// Name is the name in reports, and in the "# not NAME: reason" of a line. Two versions of a program have two names.
	Name   string
	Driver Driver
	// Program is the absolute path of the program. It runs with the arguments and files of the driver's command, as the
	// user of sidecars. It is empty for drivers without a proxy: the application then uses the gRPC library of Go.
	Program string
	// Arguments changes the arguments for tests, for example the period after which logs are written; nil leaves them.
	Arguments func([]string) []string
	// Env are further environment variables, as NAME=value.
	Env []string
	// OpenURL has the metrics that count open requests, and OpenValue returns the value of a line of them that counts
	// those of a port, or with streams the connections. Lines with open requests need both.
	OpenURL   string
	OpenValue func(line string, port uint16, streams bool) (value string, counts bool)
	// ClusterName returns the name in access logs of a destination whose first resource has a name; nil for the same.
	ClusterName func(resource string) string
	// HealthURL has the metrics of the health checks that gateways make of their listeners, and HealthValue returns what
	// a line of them counts for the listener on a port: healthyListeners, passedChecks or failedChecks. Lines of health
	// checks need both.
	HealthURL   string
	HealthValue func(line string, port uint16) (what, value string)
}

// SidecarOf returns the sidecar of a driver with the program that its pods run. find returns the path of a program; its
// errors are returned.
func SidecarOf(name string, driver Driver, find func(program string) (path string, err error)) (Sidecar, error) {
	s := Sidecar{Name: name, Driver: driver}
	spec, err := process{sidecar: s}.patch(context.Background(), model.Workload{})
	if err != nil || spec.Proxyless() {
		return s, err
	}
	s.Program, err = find(spec.Command[0])
	return s, err
}

// eachMetric calls a function with each line of metrics.
func eachMetric(ctx context.Context, url string, do func(line string) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	s := bufio.NewScanner(io.LimitReader(response.Body, 1<<20))
	for s.Scan() {
		if err := do(s.Text()); err != nil {
			return fmt.Errorf("metric %s: %w", s.Text(), err)
		}
	}
	return s.Err()
}

// Driver is a driver for which the control plane delivers configuration.
type Driver interface {
	sidecar.Driver
	sidecar.Renderer
}

// proxyless reports whether applications are their own sidecars.
func (s Sidecar) proxyless() bool { return s.Program == "" }

// Runs reports whether the driver declares all that a view needs.
func (s Sidecar) Runs(view *model.View) bool {
	supports := s.Driver.Supports()
	for _, n := range view.Needs() {
		unseen := s.proxyless() && beyondCalls[n.Feature]
		if !supports[n.Feature] && !unseen {
			return false
		}
	}
	return true
}

// lines returns the requests of a workload that the sidecar decides: those of the file, and those derived from its
// view.
func (s Sidecar) lines(c *Case, view *model.View, workload string) []Line {
	own := slices.DeleteFunc(slices.Clone(c.Lines), func(l Line) bool {
		return l.Workload != workload || l.Except == s.Name
	})
	all := slices.Concat(own, chosen(derivedLines(view, workload, own)))
	return s.deciding(view, all)
}

// deciding returns the lines that the sidecar decides.
func (s Sidecar) deciding(view *model.View, all []Line) []Line {
	switch {
	case !s.proxyless():
		return all
	case view.Gateway:
		return nil
	}
	return libraryLines(view, all)
}

// process runs a sidecar. socket is that of the secret discovery service; it may be empty.
type process struct {
	sidecar     Sidecar
	dir, socket string
	network     *netns // nil for that of this process
}

// start runs the sidecar with the command and files of the driver, and returns when it is ready.
func (p process) start(ctx context.Context, w model.Workload, resources []sidecar.Resource) (*discovery, error) {
	d := &discovery{}
	address, err := d.serve(ctx, w.NodeID, resources)
	if err != nil {
		return nil, fmt.Errorf("discovery server: %w", err)
	}
	spec, err := p.patch(ctx, w)
	if err != nil {
		return nil, err
	}
	d.metricsURL = spec.MetricsURL
	if d.relay, err = p.serveRelay(ctx, address); err != nil {
		return nil, err
	}
	if p.sidecar.proxyless() {
		d.library, err = p.newLibrary(spec)
		return d, err
	}
	cmd, err := p.command(ctx, spec)
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := p.ready(ctx, spec.ReadyURL, ended, d); err != nil {
		_ = cmd.Cancel()
		return nil, fmt.Errorf("%s: %w\n%s", p.sidecar.Name, err, strings.Join(d.rejected(), "\n"))
	}
	d.relay.Started()
	return d, nil
}

// patch returns what the driver injects.
func (p process) patch(ctx context.Context, w model.Workload) (*sidecar.Spec, error) {
	injector := &sidecar.InjectorContext{
		Context: ctx, OsmNamespace: "anymesh-system", Workload: w, Node: w.NodeID, SDSSocketPath: p.socket,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: p.sidecar.Name}},
	}
	if err := p.sidecar.Driver.Patch(injector); err != nil {
		return nil, err
	}
	return injector.Sidecar, nil
}

// inDir replaces the folders of a sidecar's sockets and files in a text by that of the process.
func (p process) inDir(text string) string {
	return strings.NewReplacer(sidecar.CertificatesDir, p.dir, sidecar.FilesDir, p.dir).Replace(text)
}

// command returns the command of the sidecar, and writes its files.
func (p process) command(ctx context.Context, spec *sidecar.Spec) (*exec.Cmd, error) {
	for name, content := range spec.Files {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(p.inDir(string(content))), 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.Chown(p.dir, sidecar.UID, sidecar.UID); err != nil {
		return nil, err
	}
	var arguments []string
	for _, a := range spec.Command[1:] {
		arguments = append(arguments, p.inDir(a))
	}
	if p.sidecar.Arguments != nil {
		arguments = p.sidecar.Arguments(arguments)
	}
	cmd := exec.CommandContext(ctx, p.sidecar.Program, arguments...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), p.sidecar.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sidecar.UID, Gid: sidecar.UID}}
	return cmd, nil
}

// ready waits until the sidecar has received its configuration.
func (p process) ready(ctx context.Context, url string, ended <-chan error, d *discovery) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: p.network.dial}}
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if len(d.rejected()) > 0 {
			return errors.New("it rejects its configuration")
		}
		select {
		case err := <-ended:
			return fmt.Errorf("process exited: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
