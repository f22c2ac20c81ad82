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

// cpu is the processor time that the process has used, in seconds.
func (s *server) cpu() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks float64
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks / 100, nil // the kernel counts in hundredths, whatever its own clock
}

// memory is what the process holds, in bytes: heap and stacks, after a collection of garbage.
func (s *server) memory(ctx context.Context) (float64, error) {
	if _, err := get(ctx, "http://"+debug+"/debug/pprof/heap?gc=1"); err != nil {
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
		if name == "go_memstats_heap_inuse_bytes" || name == "go_memstats_stack_inuse_bytes" {
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
