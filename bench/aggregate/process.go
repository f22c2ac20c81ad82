package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a server whose CPU time and memory are measured.
type process struct{ pid int }

// cpu returns the CPU time in seconds, from the CPU clock of the process.
func (p process) cpu() (float64, error) {
	const exact = 2 // the clock type in the lowest three bits: scheduler time
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid<<3|exact), &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", p.pid, err)
	}
	return time.Duration(t.Nano()).Seconds(), nil
}

// resident returns the resident memory in MB, and its maximum since the last call of resetPeak.
func (p process) resident() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "VmRSS:" && fields[0] != "VmHWM:" {
			continue
		}
		kb, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, 0, err
		}
		if fields[0] == "VmRSS:" {
			now = kb * 1024 / 1e6
		} else {
			peak = kb * 1024 / 1e6
		}
	}
	return now, peak, nil
}

// resetPeak begins to measure the maximum of the resident memory again.
func (p process) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0)
}

// processWith returns the process whose command line has all parts.
func processWith(parts ...string) (process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return process{}, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // It ended.
		}
		has := true
		for _, part := range parts {
			has = has && bytes.Contains(append([]byte{0}, text...), []byte("\x00"+part+"\x00"))
		}
		if has {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return process{pid}, err
		}
	}
	return process{}, fmt.Errorf("no process has the arguments %q", parts)
}

// fetch returns the body of a response with status 200.
func fetch(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d: %.300s", url, response.StatusCode, body)
	}
	return body, err
}

// liveHeap runs a garbage collection in the aggregator, and returns the live heap in bytes.
func (a *aggregator) liveHeap(ctx context.Context) (float64, error) {
	for range 2 { // The second collection frees what has finalizers.
		if _, err := fetch(ctx, http.DefaultClient, "http://"+a.debug+"/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	text, err := fetch(ctx, http.DefaultClient, "http://"+a.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, "go_gc_heap_live_bytes "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("the aggregator has no metric go_gc_heap_live_bytes")
}

// profile writes a CPU profile of the aggregator from now on, if a folder for profiles is set.
func (a *aggregator) profile(ctx context.Context, dir, name string, seconds int) {
	if dir == "" {
		return
	}
	go func() {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", a.debug, seconds)
		text, err := fetch(ctx, http.DefaultClient, url)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".cpu"), text, 0o644)
		}
		if err != nil {
			progress("profile %s: %v", name, err)
		}
	}()
}
