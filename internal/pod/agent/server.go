package agent

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/serverlimit"
)

const (
	localTimeout   = 2 * time.Second // for requests to the proxy
	maxMetricsSize = 64 << 20        // bytes of the proxy's metrics
	// MaxReadyWait limits how long a request waits for the proxy to be ready.
	MaxReadyWait = 10 * time.Second
	readyPoll    = 20 * time.Millisecond
)

// localClient returns a client for requests to the proxy in the same pod.
func localClient() *http.Client {
	return &http.Client{
		Timeout:       localTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// serve starts the HTTP server, and returns a function that stops it.
func (a *agent) serve(l net.Listener) (stop func()) {
	refuse := func(reason string) { a.metrics.refused.WithLabelValues(reason).Inc() }
	limit := connlimit.New(connlimit.Limits{
		PerSource: MaxConnectionsPerSource, PerSecond: MaxConnectionsPerSecond, Burst: MaxConnectionBurst,
		Total: MaxConnections, Exempt: connlimit.Node(), ExemptTotal: MaxNodeConnections,
		OnRefused: func(why connlimit.Reason) { refuse(string(why)) },
	})
	srv := &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: ReadHeaderTimeout,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    MaxHeaderBytes,
	}
	observe := serverlimit.Observe(srv, func(why serverlimit.Reason) { refuse(string(why)) })
	l = observe(limit.Listen(l))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); err != http.ErrServerClosed {
			a.Logger.Error("HTTP server failed", "error", err)
		}
	}()
	return func() {
		_ = srv.Close() // the process exits
		<-done
	}
}

func (a *agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", a.serveReady)
	mux.HandleFunc("GET /live", a.serveLive)
	mux.HandleFunc("GET /metrics", limitScrapes(a.serveMetrics, a.metrics.refused.WithLabelValues("scrapes").Inc))
	mux.HandleFunc("GET /app-probe/{container}/{kind}", a.serveProbe)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(serverlimit.LimitWrite(w, r, WriteTimeout), r)
	})
}

// serveReady responds at once or, with ?wait=DURATION, when the proxy is ready: kubelet probes at most once per
// second, and the start of the pod waits for the first success.
func (a *agent) serveReady(w http.ResponseWriter, r *http.Request) {
	wait, _ := time.ParseDuration(r.URL.Query().Get("wait")) // an invalid duration means 0
	deadline := time.Now().Add(min(wait, MaxReadyWait))
	err := a.ready(r.Context())
	for err != nil && time.Now().Before(deadline) && r.Context().Err() == nil {
		select {
		case <-r.Context().Done():
		case <-time.After(readyPoll):
			err = a.ready(r.Context())
		}
	}
	if err != nil {
		if wait >= MaxReadyWait && !time.Now().Before(deadline) {
			a.metrics.refused.WithLabelValues("ready_wait").Inc()
		}
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

func (a *agent) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, localTimeout)
	defer cancel()
	if a.names != nil && a.names.server != nil && !a.names.received.Load() {
		return errors.New("waiting for the host names of the mesh")
	}
	switch a.phase.get() {
	case starting:
		return fmt.Errorf("waiting for a certificate from %s", a.SigningURL)
	case stopping:
		return fmt.Errorf("stopping")
	}
	if a.ReadyURL == "" {
		return a.listenersHealthy(ctx)
	}
	resp, err := a.get(ctx, a.ReadyURL)
	if err != nil {
		return fmt.Errorf("the proxy is not ready: %w", err)
	}
	defer resp.Body.Close()
	a.responded.Store(true)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy is not ready: %s returned %s", a.ReadyURL, resp.Status)
	}
	a.keep()
	return a.listenersHealthy(ctx)
}

func (a *agent) get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return a.client.Do(req)
}

func (a *agent) post(url string) error {
	resp, err := a.client.Post(url, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func (a *agent) serveProbe(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("kind")
	p, ok := a.Probes[r.PathValue("container")+"/"+kind]
	if !ok || subtle.ConstantTimeCompare([]byte(p.Token), []byte(r.Header.Get(hookTokenHeader))) != 1 {
		http.Error(w, "no such probe", http.StatusNotFound)
		return
	}
	v := a.probe(r.Context(), p, r.UserAgent())
	result := "ok"
	if v.status != http.StatusOK {
		result = "failed"
	}
	a.metrics.probes.WithLabelValues(kind, result).Inc() // kind is one of probeKinds
	if p.Token != "" && !v.responded {
		panic(http.ErrAbortHandler) // for the kubelet, a hook fails if it gets no response, whatever the status
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(v.status)
	_, _ = io.WriteString(w, v.text) // kubelet may have disconnected
}

// serveMetrics writes the metrics of the agent and then those of the proxy, whose names differ.
func (a *agent) serveMetrics(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	families, err := a.metrics.registry.Gather()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, f := range families {
		if encoder.Encode(f) != nil {
			return // the client has disconnected
		}
	}
	if a.MetricsURL == "" || a.phase.get() == starting {
		return
	}
	resp, err := a.get(r.Context(), a.MetricsURL)
	if err != nil {
		a.Logger.Debug("metrics of the proxy not available", "error", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_, _ = io.Copy(w, io.LimitReader(resp.Body, maxMetricsSize)) // either side may have disconnected
	}
}
