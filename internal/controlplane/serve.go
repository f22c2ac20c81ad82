package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/objects/admission"
	"anymesh.dev/anymesh/internal/objects/conversion"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// serve runs an HTTP server until the context ends, then shuts it down gracefully. When the shutdown of the control
// plane begins, clients with open connections are asked to open new ones: the requests that they send then reach a
// replica that stays. Those that still connect to this one get answers.
func (cp *controlPlane) serve(
	ctx context.Context, what, address string, limit *connlimit.Limiter, handler http.Handler, config *tls.Config,
) error {
	listener, err := connlimit.ListenTCP(ctx, address)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	servers, ctx := errgroup.WithContext(ctx)
	connections := newSuccessive(ctx, limit.Listen(listener))
	first, stop := cp.untilShutdown(ctx)
	defer stop()
	servers.Go(func() error { return cp.serveOn(first, what, connections.next(), handler, config) })
	servers.Go(func() error {
		<-first.Done()
		if ctx.Err() != nil {
			return nil
		}
		return cp.serveOn(ctx, what, connections.next(), handler, config)
	})
	return servers.Wait()
}

// serveOn runs a server on a listener until the context ends.
func (cp *controlPlane) serveOn(
	ctx context.Context, what string, listener net.Listener, handler http.Handler, config *tls.Config,
) error {
	server, observe := cp.httpServer(what, handler)
	listener = observe(listener)
	if config != nil {
		config = config.Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
		listener = tls.NewListener(listener, config)
	}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(grace) // remaining connections are closed
	})
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// httpServer returns a server with limits. Its listener has to be wrapped with observe.
func (cp *controlPlane) httpServer(what string, handler http.Handler) (
	server *http.Server, observe func(net.Listener) net.Listener,
) {
	server = &http.Server{
		Handler: handler, ReadHeaderTimeout: ReadHeaderTimeout, ReadTimeout: ReadTimeout,
		WriteTimeout: WriteTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: MaxHeaderBytes,
		HTTP2:    serverlimit.HTTP2(WriteTimeout),
		ErrorLog: connectionErrors(cp.Log, what, cp.connections.errors.WithLabelValues(what)),
	}
	return server, cp.connections.observe(what, server)
}

func (cp *controlPlane) serveSigning(ctx context.Context) error {
	handler := identity.NewHandler(cp.ca, identity.NewTokenVerifier(cp.kube.signing), identity.HandlerOptions{
		Lifetime: cp.CertificateLifetime, LifetimeOf: cp.certificateLifetime,
		Registerer: cp.registry, Logger: cp.clientLog,
	})
	return cp.serve(ctx, "signing", cp.SigningAddress, cp.connections.limit("signing"), handler, cp.serving.TLSConfig())
}

func (cp *controlPlane) serveWebhooks(ctx context.Context) error {
	mux := http.NewServeMux()
	err := admission.Handle(mux, admission.Options{
		Dialects: cp.dialects, Scheme: cp.client.Scheme(), Cache: cp.admission, Waiting: cp.admission.waiting,
		IPv6: cp.clusterIsIPv6(),
	})
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	_, port, err := net.SplitHostPort(cp.SigningAddress)
	if err != nil {
		return fmt.Errorf("signing address %q: %w", cp.SigningAddress, err)
	}
	mux.Handle("/mutate-v1-pod", &crwebhook.Webhook{Handler: &inject.Webhook{
		Dialects: dialect.Implementing[dialect.Injection](cp.dialects), Cluster: cp.admission, Mesh: cp.Mesh,
		KubeClient:      cp.kube.drivers,
		SystemNamespace: cp.Namespace, SigningURL: "https://" + net.JoinHostPort(cp.service(), port),
		NamesPort:  cp.namesPort,
		PullPolicy: cp.PullPolicy, Roots: func() []byte { return cp.ca.Bundle().PEM() },
	}})
	limit := cp.connections.limitWebhooks(cp.apiServers.Has)
	all := http.NewServeMux()
	all.Handle("/", admission.Guard(mux, cp.apiServers.Has, cp.registry))
	all.Handle(conversion.Path, conversion.Handler(cp.dialects, cp.apiServers.Has, cp.registry))
	return cp.serve(ctx, "webhooks", cp.WebhookAddress, limit, all, cp.serving.TLSConfig())
}

// clusterIsIPv6 reports whether the address of the API server is IPv6.
func (cp *controlPlane) clusterIsIPv6() bool {
	u, err := url.Parse(cp.KubeConfig.Host)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Is6()
}

func (cp *controlPlane) serveMetrics(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(cp.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) { answer(w, cp.live(r.Context())) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, cp.ready(r.Context())) })
	return cp.serve(ctx, "metrics", cp.MetricsAddress, cp.connections.limit("metrics"), mux, nil)
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
