package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// listenLoopback listens on an address of the loopback interface. Other addresses are refused, because the connections
// have no TLS.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is not an address of the loopback interface; use 127.0.0.1:PORT", address)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// serveProfiles serves /debug/pprof on a loopback address until the context ends.
func serveProfiles(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	listener, err := listenLoopback(ctx, address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // it returns when it is closed
	return nil
}
