package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startTimeout limits the time until a proxy is ready.
const startTimeout = 20 * time.Second

// process is a running proxy.
type process struct {
	command *exec.Cmd
	log     bytes.Buffer
	ready   time.Duration
}

// start starts a proxy on its core, and returns when it accepts connections.
func (o options) start(ctx context.Context, name string, p ports) (*process, error) {
	dir, err := os.MkdirTemp("", "bench-proxy-")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = os.RemoveAll(dir) }) // a temporary folder
	command, env, file, config := o.command(name, p, dir)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return nil, err
	}
	r := &process{command: exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(proxyCore)}, command...)...)}
	r.command.Env = append(os.Environ(), env...)
	r.command.Stdout, r.command.Stderr, r.command.Dir = &r.log, &r.log, dir
	r.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begun := time.Now()
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", p.http))
		if err == nil {
			r.ready = time.Since(begun)
			return r, c.Close()
		}
		if time.Since(begun) > startTimeout || ctx.Err() != nil {
			r.stop()
			return nil, fmt.Errorf("%s is not ready: %w\n%s", name, err, r.log.String())
		}
		time.Sleep(200 * time.Microsecond)
	}
}

func (r *process) stop() {
	_ = r.command.Process.Kill() // it may have ended
	_ = r.command.Wait()         // it was killed
}

// cpu returns the CPU time of the process and its threads.
func (r *process) cpu() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", r.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n)
	}
	return total, nil
}

// rss returns the resident memory in MB.
func (r *process) rss() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", r.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * float64(os.Getpagesize()) / 1e6, err
}
