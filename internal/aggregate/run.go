package aggregate

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// drainTime limits the time from the end of the watches to the end of other requests, such as logs.
const drainTime = 5 * time.Second

// Run serves requests on a listener until the context ends, and then for Config.ShutdownDelay: clients and Services
// need some time to notice that /readyz fails. Then watches end, with a last bookmark, and other requests have
// drainTime.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.synchronize(serving, s.changed)
		s.cache.Close()
	}()
	go s.followRights(serving)
	if s.config.Service != nil {
		go s.trustService(serving)
	}
	server, listen := s.httpServer(serving)
	failed := make(chan error, 2)
	go func() { failed <- server.ServeTLS(listen(listener), "", "") }()
	if s.config.Plaintext != nil {
		go func() { failed <- server.Serve(listen(s.config.Plaintext)) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = s.drain(server, failed)
	}
	cancel()
	<-done
	return err
}

// connections limits those of one address and of all, except loopback.
func (s *Server) connections(perSource, total int) *connlimit.Limiter {
	return connlimit.New(connlimit.Limits{
		PerSource: perSource, Total: total, Exempt: netip.Addr.IsLoopback,
		OnRefused: func(why connlimit.Reason) { s.metrics.refuse(string(why)) },
	})
}

// drain goes on to serve for a time, and ends the requests.
func (s *Server) drain(server *http.Server, failed <-chan error) error {
	s.stopping.Store(true)
	s.config.Log.Info("the aggregator ends", "after", s.config.ShutdownDelay)
	delay := time.NewTimer(s.config.ShutdownDelay)
	defer delay.Stop()
	select {
	case err := <-failed:
		return err
	case <-delay.C:
	}
	ctx, release := context.WithTimeout(context.Background(), drainTime)
	defer release()
	s.watches.close()
	s.passed.close()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// limitWrites limits the time in which a client reads a response. serveAs exempts watches and streams.
func (s *Server) limitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(serverlimit.LimitWrite(w, r, s.readTimeout), r)
	})
}

// httpServer returns the server, and a function that limits the connections of its listeners.
func (s *Server) httpServer(serving context.Context) (*http.Server, func(net.Listener) net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.Handle("/", s)
	server := &http.Server{
		Handler: s.limitWrites(mux), MaxHeaderBytes: MaxHeaderBytes,
		ReadHeaderTimeout: ReadHeaderTimeout, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return serving },
		HTTP2:       serverlimit.HTTP2(ReadTimeout),
		ErrorLog:    s.metrics.logConnections(s.config.Log.Handler()),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert,
			GetCertificate: s.config.Certificate, NextProtos: []string{"h2", "http/1.1"},
		},
	}
	observe := serverlimit.Observe(server, func(why serverlimit.Reason) { s.metrics.refuse(string(why)) })
	limiter := s.connections(MaxConnectionsPerSource, MaxConnections)
	return server, func(l net.Listener) net.Listener { return observe(limiter.Listen(l)) }
}
