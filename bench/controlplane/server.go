package main

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
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Where the control plane listens; discovery has the port of the mesh configuration.
const (
	discovery = "127.0.0.1:15128"
	metrics   = "127.0.0.1:19090"
	debug     = "127.0.0.1:19091"
)

// server is a control plane as a process of its own.
type server struct {
	command *exec.Cmd
	log     bytes.Buffer
	done    chan error
}

func startServer(ctx context.Context, c *cluster) (*server, error) {
	config := filepath.Join(filepath.Dir(c.kubeconfig), "mesh.json")
	if err := os.WriteFile(config, []byte(`{"sidecar": {"sidecarClass": "envoy"}}`), 0o600); err != nil {
		return nil, err
	}
	s := &server{done: make(chan error, 1)}
	s.command = exec.CommandContext(ctx, filepath.Join(c.bin, "anymesh"), "controller", "--kubeconfig", c.kubeconfig, "--mesh-config", config,
		"--signing-address", "127.0.0.1:0", "--webhook-address", "127.0.0.1:0", "--metrics-address", metrics, "--debug-address", debug, "--log-level", "warn")
	s.command.Stdout, s.command.Stderr = &s.log, &s.log
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.command.Wait() }()
	return s, nil
}

func (s *server) stop() {
	_ = s.command.Process.Kill() // it may have ended
	<-s.done
}

// check tells whether the server still runs.
func (s *server) check() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("the control plane ended: %w\n%s", errors.Join(err), s.log.String())
	default:
		return nil
	}
}

// cpu is the processor time that the process has used, in seconds, by the kernel's exact clock of the process.
func (s *server) cpu() (float64, error) {
	const exact = 2 // the kind of clock in the lowest three bits: what the scheduler has counted
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^s.command.Process.Pid<<3|exact), &t); err != nil {
		return 0, fmt.Errorf("CPU clock of the control plane: %w", err)
	}
	return time.Duration(t.Nano()).Seconds(), nil
}

// profiles is a folder for the heap's profiles, by which one can see what takes memory; none if empty.
var profiles string

// memory is what the process holds, in bytes: what lives on the heap after a collection of garbage, and stacks.
func (s *server) memory(ctx context.Context, when string) (float64, error) {
	profile, err := get(ctx, "http://"+debug+"/debug/pprof/heap?gc=1")
	if err == nil && profiles != "" {
		err = os.WriteFile(filepath.Join(profiles, when+".heap"), profile, 0o644)
	}
	if err != nil {
		return 0, err
	}
	text, err := get(ctx, "http://"+metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	var sum float64
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name == "go_memstats_heap_alloc_bytes" || name == "go_memstats_stack_inuse_bytes" {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, lines.Err()
}

// settle waits until the process has nothing to do.
func (s *server) settle(ctx context.Context) error {
	quiet := 0
	for quiet < 3 {
		if err := s.check(); err != nil {
			return err
		}
		before, err := s.cpu()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
		after, err := s.cpu()
		if err != nil {
			return err
		}
		if quiet++; after-before > 0.02 {
			quiet = 0
		}
	}
	return nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
