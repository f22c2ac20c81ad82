package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
)

// callsPerSidecar is the number of services that each client calls.
const callsPerSidecar = 2

// startCalls starts calls of each client to the next services, through its sidecar and theirs.
func (m *mesh) startCalls(ctx context.Context) error {
	return m.eachCaller(ctx, func(ctx context.Context, i int, steady string) error {
		query := url.Values{"rate": {fmt.Sprint(max(1, m.rate/callsPerSidecar))}}
		for k := range callsPerSidecar {
			query.Add("url", fmt.Sprintf("http://%s.%s.svc.cluster.local:%d/", serviceName((i+1+k)%len(m.sidecars)), namespace, port))
		}
		_, err := request(ctx, http.MethodPut, steady+"?"+query.Encode())
		return err
	})
}

// stopCalls stops the calls and counts them. A call fails unless its answer names the version of a service.
func (m *mesh) stopCalls(ctx context.Context, r *result) error {
	counts := make([]map[string]int, len(m.sidecars))
	if err := m.eachCaller(ctx, func(ctx context.Context, i int, steady string) error {
		text, err := request(ctx, http.MethodDelete, steady)
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), &counts[i])
	}); err != nil {
		return err
	}
	for _, of := range counts {
		for outcome, n := range of {
			r.Calls += n
			if !strings.HasPrefix(outcome, "service-") {
				r.Failed += n
				fmt.Fprintf(os.Stderr, "%d calls: %s\n", n, outcome)
			}
		}
	}
	return nil
}

func (m *mesh) eachCaller(ctx context.Context, f func(ctx context.Context, i int, steady string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range m.sidecars {
		group.Go(func() error { return f(ctx, i, "http://"+p.Status.PodIP+":6060/steady") })
	}
	return group.Wait()
}

// readAttempts adds what the attackers printed.
func (r *result) readAttempts(out []byte) error {
	fmt.Fprintf(os.Stderr, "attackers: %s", out)
	for attackers := json.NewDecoder(bytes.NewReader(out)); ; {
		var kinds map[string]struct{ Attempts, Connected int64 }
		err := attackers.Decode(&kinds)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("output of the attackers %q: %w", out, err)
		}
		for _, k := range kinds {
			r.Attempts += k.Attempts
			r.Connected += k.Connected
		}
	}
}
