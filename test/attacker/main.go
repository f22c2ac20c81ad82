// Command attacker attacks sidecars and a control plane from a pod without credentials, for a time.
//
//	attacker --duration 10s proxy-port=10.1.0.5:15001 slow-scrape=10.1.0.5:15020 review=10.1.0.9:9443
//
// In: kinds of attacks, each with the address of its target, which all run at once. Out: as JSON, how many attempts
// each made, and how many got a connection or an answer. from-pod.sh runs it in the network of a pod.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attack is one kind of attack: workers that repeat an attempt. An attempt ends at the latest when the context does.
type attack struct {
	kind    string
	workers int
	try     func(ctx context.Context, target string, c *counts)
}

// counts are the attempts of one kind.
type counts struct {
	// Attempts counts all, Connected those that got a connection, Answered those that got an HTTP status.
	Attempts, Connected, Answered atomic.Int64
}

// MarshalJSON implements json.Marshaler.
func (c *counts) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int64{
		"attempts": c.Attempts.Load(), "connected": c.Connected.Load(), "answered": c.Answered.Load(),
	})
}

func main() {
	duration := flag.Duration("duration", 10*time.Second, "how long the attacks run")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), *duration)
	results, err := run(ctx, flag.Args())
	stop()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (map[string]*counts, error) {
	results := map[string]*counts{}
	var wait sync.WaitGroup
	defer wait.Wait()
	for _, arg := range args {
		kind, target, _ := strings.Cut(arg, "=")
		i := slices.IndexFunc(attacks, func(a attack) bool { return a.kind == kind })
		if _, _, err := net.SplitHostPort(target); i < 0 || err != nil {
			return nil, fmt.Errorf("argument %q: want KIND=HOST:PORT", arg)
		}
		if results[kind] == nil {
			results[kind] = &counts{}
		}
		for range attacks[i].workers {
			wait.Go(func() { repeat(ctx, attacks[i].try, target, results[kind]) })
		}
	}
	return results, nil
}

// repeat makes attempts until the context ends, with a short pause after each that got nothing.
func repeat(ctx context.Context, try func(context.Context, string, *counts), target string, c *counts) {
	for ctx.Err() == nil {
		c.Attempts.Add(1)
		before := c.Connected.Load()
		try(ctx, target, c)
		if c.Connected.Load() > before {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
