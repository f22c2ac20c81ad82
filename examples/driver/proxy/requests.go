package proxy

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
)

// captured is a connection with its original destination.
type captured struct {
	net.Conn
	to netip.AddrPort
}

// capturedKey is the context key of the captured connection.
type capturedKey struct{}

// connections is a net.Listener of captured connections.
type connections struct {
	all chan net.Conn
	ctx context.Context
}

// Accept returns the next connection.
func (c connections) Accept() (net.Conn, error) {
	select {
	case conn := <-c.all:
		return conn, nil
	case <-c.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close does nothing: the context ends the connections.
func (c connections) Close() error { return nil }

// Addr is required by net.Listener and unused.
func (c connections) Addr() net.Addr { return &net.TCPAddr{} }

// request forwards a request according to the model.
func (p *proxy) request(w http.ResponseWriter, r *http.Request) {
	conn, ok := r.Context().Value(capturedKey{}).(captured)
	if !ok {
		http.Error(w, "not captured", http.StatusInternalServerError)
		return
	}
	asked := model.Request{
		Port: conn.to.Port(), Address: conn.to.Addr(), Protocol: model.HTTP,
		Host: r.Host, Method: r.Method, Path: r.URL.RequestURI(), Scheme: "http",
	}
	for name, values := range r.Header {
		for _, v := range values {
			asked.Headers = append(asked.Headers, model.Header{Name: name, Value: v})
		}
	}
	decision, address := p.decide(asked)
	if address == "" {
		status := map[model.Outcome]int{
			model.NotFound: http.StatusNotFound, model.Malformed: http.StatusBadRequest,
			model.Denied: http.StatusForbidden, model.Forwarded: http.StatusServiceUnavailable, // without an endpoint
		}[decision.Outcome]
		http.Error(w, fmt.Sprintf("sidecar: %s", decision.Outcome), cmp.Or(status, http.StatusBadGateway))
		return
	}
	ctx, limits := limit(r.Context(), decision.Timeouts)
	defer limits.end()
	forward := &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			path, query, _ := strings.Cut(decision.Request.Path, "?")
			out.Out.URL = &url.URL{Scheme: "http", Host: address, Opaque: path, RawQuery: query}
			out.Out.Host = r.Host
		},
		ModifyResponse: func(response *http.Response) error {
			response.Body = limits.watch(response.Body)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusServiceUnavailable
			if ctx.Err() != nil && r.Context().Err() == nil {
				status = http.StatusGatewayTimeout
			}
			http.Error(w, fmt.Sprintf("sidecar: %v", err), status)
		},
		FlushInterval: -1, // the client sees each part of a response at once
	}
	forward.ServeHTTP(w, r.WithContext(ctx))
}

// addressOf picks an address of a destination; it is empty if there is none.
func addressOf(r model.ResolvedDestination) string {
	port := strconv.Itoa(int(r.Destination.Port))
	if r.Destination.Discovery.Kind == model.DiscoverDNS {
		return net.JoinHostPort(r.Destination.Discovery.LookupName(), port)
	}
	if len(r.Endpoints) == 0 {
		return ""
	}
	addresses := r.Endpoints[rand.IntN(len(r.Endpoints))].Addresses
	if len(addresses) == 0 {
		return ""
	}
	return net.JoinHostPort(addresses[0].String(), port)
}
