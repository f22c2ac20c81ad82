package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// serveTargets answers the requests to all pods of services with the target that has the address.
func serveTargets() error {
	l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		target := targets[0]
		if strings.HasPrefix(at.String(), "10.3.") {
			target = targets[1]
		}
		_, _ = io.WriteString(w, target) // the client detects the error
	})
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until the process ends
	return nil
}

// client sends requests to one service from a pod, over one connection.
type client struct {
	http        *http.Client
	connections atomic.Int64
	requests    atomic.Int64
	failed      atomic.Int64

	mu sync.Mutex
	// target has answered the last request, since is the time of its first response.
	target  string
	since   time.Time
	lastErr error
}

// serviceAddress is an address outside of the mesh: the packet rules send all connections to the Envoy.
const serviceAddress = "240.240.0.1"

func newClient(n *podNetwork) *client {
	c := &client{}
	c.http = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c.connections.Add(1)
			return n.dial(ctx, fmt.Sprintf("%s:%d", serviceAddress, port))
		},
	}}
	return c
}

// run sends requests at a rate until the context ends.
func (c *client) run(ctx context.Context, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		target, err := c.request(ctx)
		if ctx.Err() != nil {
			return
		}
		now := time.Now()
		c.requests.Add(1)
		c.mu.Lock()
		if err != nil {
			c.failed.Add(1)
			c.lastErr = err
		} else if target != c.target {
			c.target, c.since = target, now
		}
		c.mu.Unlock()
	}
}

func (c *client) request(ctx context.Context) (target string, err error) {
	url := fmt.Sprintf("http://%s.%s:%d/", serviceName(0), namespace, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s: %s", response.Status, body)
	}
	return string(body), err
}

// answeredBy returns since when a target answers.
func (c *client) answeredBy(target string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, c.target == target
}

func (c *client) lastError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
}
