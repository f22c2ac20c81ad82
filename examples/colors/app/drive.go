package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Counts are the responses by service and version. Failures count as versions.
type Counts map[string]map[string]int64

// drive calls each target at a rate and serves the counts at /counts. POST /counts resets them. GET /call?url=...
// makes one call and returns its outcome, POST /calls a list of calls. PUT /steady starts a steady load, GET
// /steady returns its counts so far; DELETE /steady stops it and returns its counts.
func drive(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("drive", flag.ExitOnError)
	listen := flags.String("listen", ":8080", "listen address of the HTTP API")
	rate := flags.Int("rate", 50, "calls per second to each target; 0 disables calls")
	_ = flags.Parse(args)
	d := &driver{counts: Counts{}, client: newClient(http.DefaultTransport)}
	if *rate > 0 {
		for _, target := range flags.Args() {
			u, err := url.Parse(target)
			if err != nil {
				return fmt.Errorf("target %q: %w", target, err)
			}
			go d.keepCalling(ctx, u, time.Second/time.Duration(*rate))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", d.serveCounts)
	mux.HandleFunc("POST /counts", d.resetCounts)
	mux.HandleFunc("/call", d.serveCall)
	mux.HandleFunc("POST /calls", d.serveCalls)
	mux.HandleFunc("PUT /steady", d.startSteady)
	mux.HandleFunc("GET /steady", d.countsSteady)
	mux.HandleFunc("DELETE /steady", d.stopSteady)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	return listenAndServe(ctx, *listen, mux)
}

// newClient returns a client that does not follow redirects.
func newClient(transport http.RoundTripper) *http.Client {
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, Timeout: 20 * time.Second, CheckRedirect: last}
}

type driver struct {
	client *http.Client // reuses connections
	mu     sync.Mutex
	counts Counts
	steady *steady // nil if no load runs
}

func (d *driver) keepCalling(ctx context.Context, target *url.URL, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			version, err := d.call(ctx, target)
			if err != nil {
				version = "failed: " + err.Error()
			}
			d.count(target.Host, version)
		}
	}
}

func (d *driver) count(service, version string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts[service] == nil {
		d.counts[service] = map[string]int64{}
	}
	d.counts[service][version]++
}

// call returns the version that responded.
func (d *driver) call(ctx context.Context, target *url.URL) (string, error) {
	if target.Scheme == "tcp" {
		return greet(ctx, "tcp", target.Host)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return "", err
	}
	response, err := d.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	var r reply
	if err := json.NewDecoder(response.Body).Decode(&r); err != nil {
		return "", err
	}
	return r.Version, nil
}

// greet reads the greeting of a TCP service and checks that it echoes.
func greet(ctx context.Context, network, address string) (string, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return "", err
	}
	lines := bufio.NewReader(conn)
	name, err := lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	if back, err := lines.ReadString('\n'); err != nil || back != "hello\n" {
		return "", fmt.Errorf("greeted with %q, sent hello, got %q: %w", name, back, err)
	}
	return name[:len(name)-1], nil
}

// hold reads the greeting of a TCP service, and then keeps the connection for a time without sending anything. It
// returns an error if the connection ends before.
func hold(ctx context.Context, address, duration string) (string, error) {
	wait, err := time.ParseDuration(duration)
	if err != nil {
		return "", err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(wait))
	lines := bufio.NewReader(conn)
	name, err := lines.ReadString('\n')
	if err != nil {
		return "", err
	}
	if _, err := lines.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("the connection ends early: %w", err)
	}
	return strings.TrimSpace(name), nil
}

func (d *driver) serveCounts(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d.counts)
}

func (d *driver) resetCounts(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.counts = Counts{}
	d.mu.Unlock()
	d.serveCounts(w, r)
}
