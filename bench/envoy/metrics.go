package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// metricsReads is how often the metrics of each sidecar are read.
const metricsReads = 5

// readMetrics measures what the agents read for Prometheus: its size, and the CPU time of an Envoy that prepares it.
func (b *bench) readMetrics(ctx context.Context, r *result) error {
	before, err := b.cpu()
	if err != nil {
		return err
	}
	size := 0.0
	for _, p := range b.proxies {
		for range metricsReads {
			n, err := p.readMetrics(ctx)
			if err != nil {
				return fmt.Errorf("metrics of a sidecar: %w", err)
			}
			size += float64(n)
		}
	}
	after, err := b.cpu()
	if err != nil {
		return err
	}
	reads := float64(len(b.proxies) * metricsReads)
	r.MetricsSize, r.MetricsCPU = size/reads/1000, (after-before)/reads
	progress("%.0f reads of metrics", reads)
	return nil
}

// readMetrics returns the size of the metrics that the agent reads.
func (p *proxy) readMetrics(ctx context.Context) (size int64, err error) {
	client := p.client()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metricsURL, nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", response.Status)
	}
	return io.Copy(io.Discard, response.Body)
}

// client sends requests to ports of the pod.
func (p *proxy) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.network.dial(ctx, address)
		},
		DisableKeepAlives: true,
	}}
}
