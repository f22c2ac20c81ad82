package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// attack is one kind of attack: workers that repeat an attempt.
type attack struct {
	kind    string
	workers int // for each address and port
	// control and sidecar are the attacked ports.
	control, sidecar []int
	// family reports whether addresses are attacked; nil for all. Limits are those of an address: attacks that use up
	// the same limit would keep each other away.
	family func(netip.Addr) bool
	// prepare returns the attempt. An attempt ends at the latest when the context does.
	prepare func(options) (attempt, error)
}

type attempt func(ctx context.Context, target string, t *tally)

// counts are the attempts of one kind. Connected counts those that got a connection, Answered those whose request
// succeeded.
type counts struct {
	Attempts  int64 `json:"attempts"`
	Connected int64 `json:"connected"`
	Answered  int64 `json:"answered"`
}

// tally counts the attempts of all workers.
type tally struct{ attempts, connected, answered atomic.Int64 }

// headStart is how long the attack with unfinished messages has connections to itself. The others would keep it away.
const headStart = 3 * time.Second

// runEach runs each kind in a process of its own.
func runEach(ctx context.Context, o options, kinds []attack) (map[string]counts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var lock sync.Mutex
	results := map[string]counts{}
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range kinds {
		group.Go(func() error {
			o := o
			if o.certificates != "" && a.kind != unfinishedMessage {
				pause(ctx, headStart)
				o.duration -= headStart
			}
			c := exec.CommandContext(ctx, self, "--kinds", a.kind, "--duration", o.duration.String(), "--control", o.control,
				"--sidecar", o.sidecar, "--workload", o.workload, "--certificates", o.certificates)
			var complaints bytes.Buffer
			c.Stderr = &complaints
			out, err := c.Output()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", a.kind, err, complaints.String())
			}
			var one map[string]counts
			if err := json.Unmarshal(out, &one); err != nil {
				return fmt.Errorf("%s: output %q: %w", a.kind, out, err)
			}
			lock.Lock()
			defer lock.Unlock()
			maps.Copy(results, one)
			return nil
		})
	}
	return results, group.Wait()
}

// run runs the attack in this process.
func (a attack) run(ctx context.Context, o options) (counts, error) {
	targets, err := a.targets(o)
	if err != nil {
		return counts{}, err
	}
	try, err := a.prepare(o)
	if err != nil {
		return counts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var t tally
	for _, target := range targets {
		for range a.workers {
			go repeat(ctx, try, target, &t)
		}
	}
	<-ctx.Done() // the process ends, and its connections with it
	return counts{t.attempts.Load(), t.connected.Load(), t.answered.Load()}, nil
}

// targets returns the attacked addresses with their ports.
func (a attack) targets(o options) (out []string, err error) {
	for _, of := range []struct {
		addresses string
		ports     []int
	}{{o.control, a.control}, {o.sidecar, a.sidecar}} {
		if len(of.ports) == 0 {
			continue
		}
		for text := range strings.SplitSeq(of.addresses, ",") {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%s: address of a target: %w", a.kind, err)
			}
			if a.family != nil && !a.family(address) {
				continue
			}
			for _, port := range of.ports {
				out = append(out, net.JoinHostPort(text, strconv.Itoa(port)))
			}
		}
	}
	return out, nil
}

// repeat makes attempts until the context ends, with a short pause after each that got nothing.
func repeat(ctx context.Context, try attempt, target string, t *tally) {
	for ctx.Err() == nil {
		t.attempts.Add(1)
		before := t.connected.Load()
		try(ctx, target, t)
		if t.connected.Load() == before {
			pause(ctx, 10*time.Millisecond)
		}
	}
}
