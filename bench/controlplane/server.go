package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// server is a control plane process.
type server struct {
	metrics, debug string // listen addresses
	command        *exec.Cmd
	log            bytes.Buffer
	done           chan error
}

// startServer starts a control plane that serves metrics and profiles at these addresses.
func startServer(command *exec.Cmd, metrics, debug string) (*server, error) {
	s := &server{metrics: metrics, debug: debug, command: command, done: make(chan error, 1)}
	command.Stdout, command.Stderr = &s.log, &s.log
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- command.Wait() }()
	return s, nil
}

// freeAddresses sets unused addresses.
func freeAddresses(addresses ...*string) error {
	for _, address := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*address = l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) stop() {
	_ = s.command.Process.Kill() // it may already have exited
	<-s.done                     //nolint:errcheck // the process was killed
}

// check returns an error if the server has exited.
func (s *server) check() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("the control plane exited: %w\n%s", errors.Join(err), s.log.String())
	default:
		return nil
	}
}

// cpu returns the CPU time of the process in seconds, from its CPU clock.
func (s *server) cpu() (float64, error) {
	const exact = 2 // the clock type in the lowest three bits: scheduler time
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^s.command.Process.Pid<<3|exact), &t); err != nil {
		return 0, errors.Join(fmt.Errorf("CPU clock of the control plane: %w", err), s.check())
	}
	return time.Duration(t.Nano()).Seconds(), nil
}

// profiles is the folder for profiles; empty disables them.
var profiles string

// profileCPU writes a CPU profile of the next seconds, as soon as the control plane serves profiles.
func (s *server) profileCPU(ctx context.Context, when string, seconds int) {
	if profiles == "" {
		return
	}
	go func() {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.debug, seconds)
		err := eventually(ctx, "no profile", func() error {
			profile, err := get(ctx, url)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(profiles, when+".cpu"), profile, 0o644)
		})
		if err != nil {
			progress("CPU profile: %v", err)
		}
	}()
}

// resident returns the resident memory of the process in bytes.
func (s *server) resident(ctx context.Context) (float64, error) {
	values, err := s.read(ctx, "process_resident_memory_bytes")
	if err == nil && values[0] == 0 {
		err = errors.New("the control plane has no metric for its resident memory")
	}
	return values[0], err
}

// memory returns the live heap after a garbage collection plus stacks, in bytes. It is the minimum of several
// measurements, because the process allocates between collection and measurement.
func (s *server) memory(ctx context.Context, when string) (least float64, err error) {
	for i := range 5 {
		now, err := s.memoryNow(ctx, when)
		if err != nil {
			return 0, err
		}
		if i == 0 || now < least {
			least = now
		}
	}
	return least, nil
}

func (s *server) memoryNow(ctx context.Context, when string) (float64, error) {
	profile, err := get(ctx, "http://"+s.debug+"/debug/pprof/heap?gc=1")
	if err == nil && profiles != "" {
		err = os.WriteFile(filepath.Join(profiles, when+".heap"), profile, 0o644)
	}
	if err != nil {
		return 0, err
	}
	values, err := s.read(ctx, "go_memstats_heap_alloc_bytes", "go_memstats_stack_inuse_bytes")
	return values[0] + values[1], err
}

// read returns the values of metrics without labels.
func (s *server) read(ctx context.Context, names ...string) ([]float64, error) {
	values := make([]float64, len(names))
	text, err := get(ctx, "http://"+s.metrics+"/metrics")
	if err != nil {
		return values, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if i := slices.Index(names, name); i >= 0 {
			if values[i], err = strconv.ParseFloat(value, 64); err != nil {
				return values, err
			}
		}
	}
	return values, lines.Err()
}

// settle waits until the process is idle.
func (s *server) settle(ctx context.Context) error { return s.settleFor(ctx, 1500*time.Millisecond) }

// settleFor waits until the process is idle for a duration.
func (s *server) settleFor(ctx context.Context, idle time.Duration) error {
	const interval = 500 * time.Millisecond
	for quiet := time.Duration(0); quiet < idle; {
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
		case <-time.After(interval):
		}
		after, err := s.cpu()
		if err != nil {
			return err
		}
		if quiet += interval; after-before > 0.02 {
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
		return nil, fmt.Errorf("%s: status %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}
