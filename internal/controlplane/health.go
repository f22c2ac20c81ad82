package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"anymesh.dev/anymesh/sidecar"
)

// live returns an error if a restart is better than to continue. Waiting for the API server is not such an error.
func (cp *controlPlane) live(ctx context.Context) error {
	if !cp.assembled.Load() {
		return nil
	}
	return cp.probeDrivers(ctx, func(p sidecar.HealthProbes) *sidecar.HealthProbe { return p.Liveness })
}

// ready returns an error if the control plane cannot serve sidecars. After the first sync it stays ready when the API
// server is unreachable, and serves the last configuration.
func (cp *controlPlane) ready(ctx context.Context) error {
	select {
	case <-cp.shutdown:
		return errors.New("the control plane is shutting down")
	default:
	}
	if !cp.assembled.Load() || !cp.engine.Ready() {
		return errors.New(cmp.Or(cp.progress.notReadyReason(), "the control plane is starting"))
	}
	return cp.probeDrivers(ctx, func(p sidecar.HealthProbes) *sidecar.HealthProbe { return p.Readiness })
}

// probe probes a driver's health endpoint on the loopback address. A nil probe succeeds.
func probe(ctx context.Context, p *sidecar.HealthProbe) error {
	if p == nil {
		return nil
	}
	timeout := p.Timeout
	if timeout == 0 {
		timeout = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.Port)))
	if !p.HTTP {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+p.Path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("%s returned %s", p.Path, response.Status)
	}
	return nil
}
