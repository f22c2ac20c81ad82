package tinypoll

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"example.com/tiny/proxy"
)

// Follow is the proxy.Source of the driver: it polls the server of the driver. It repeats requests that fail.
func Follow(ctx context.Context, server, _ string, m *proxy.Mesh) {
	tag := ""
	for ctx.Err() == nil {
		next, err := request(ctx, server, tag, m)
		if err == nil {
			tag = next
			continue
		}
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "tinypoll: the configuration is not current:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// request waits for a configuration that differs from that with the tag, and returns the tag of the current one. Each
// request has a connection of its own, with the current certificate.
func request(ctx context.Context, server, tag string, m *proxy.Mesh) (string, error) {
	config, err := proxy.MutualTLS(server)
	if err != nil {
		return "", err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server+"/configuration", nil)
	if err != nil {
		return "", err
	}
	asked.Header.Set("If-None-Match", tag)
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: maxWait + 10*time.Second,
	}
	response, err := client.Do(asked)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusNotModified:
		return tag, nil
	case http.StatusOK:
	default:
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return "", fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	var c configuration
	if err := json.NewDecoder(response.Body).Decode(&c); err != nil {
		return "", err
	}
	m.SetAll(c.View, c.Destinations)
	return response.Header.Get("ETag"), nil
}
