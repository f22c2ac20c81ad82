package main

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Resource types in the order in which a sidecar subscribes to them.
const (
	typePrefix   = "type.googleapis.com/envoy.config."
	clusterType  = typePrefix + "cluster.v3.Cluster"
	endpointType = typePrefix + "endpoint.v3.ClusterLoadAssignment"
	listenerType = typePrefix + "listener.v3.Listener"
	scopeType    = typePrefix + "route.v3.ScopedRouteConfiguration"
	routeType    = typePrefix + "route.v3.RouteConfiguration"
)

// sidecar is a client that only acknowledges responses, so that most of the CPU is available to the server. Real
// sidecars run on other machines.
type sidecar struct {
	discovery     string // address of the server
	config        *tls.Config
	subscriptions []*discoveryv3.DeltaDiscoveryRequest
	received      *atomic.Int64 // bytes, of all clients
	got           func(response)
}

// subscriptions returns the subscriptions of a sidecar: all clusters and listeners, and a name of another type. The
// endpoints follow from the clusters, and routes from scopes.
func subscriptions(node *corev3.Node, typeURL, name string) []*discoveryv3.DeltaDiscoveryRequest {
	return []*discoveryv3.DeltaDiscoveryRequest{
		{Node: node, TypeUrl: clusterType},
		{TypeUrl: listenerType},
		{TypeUrl: typeURL, ResourceNamesSubscribe: []string{name}},
	}
}

// start connects the client. stop disconnects it and waits.
func (c *sidecar) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// run keeps a stream open until the context ends, and reconnects if it fails.
func (c *sidecar) run(ctx context.Context) {
	for ctx.Err() == nil {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.discovery); err == nil {
			end := context.AfterFunc(ctx, func() { _ = conn.Close() }) // it may already be closed
			_ = c.stream(ctx, conn)                                    // retried with the next stream
			end()
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *sidecar) stream(ctx context.Context, conn net.Conn) error {
	secure := tls.Client(countingConn{conn, c.received}, c.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	s, err := open(secure)
	if err != nil {
		return err
	}
	for _, request := range c.subscriptions {
		if err := s.request(request); err != nil {
			return err
		}
	}
	endpoints, routes := map[string]bool{}, map[string]bool{} // subscribed, of this stream
	for {
		r, err := s.response()
		if err != nil {
			return err
		}
		if err := s.acknowledge(r); err != nil {
			return err
		}
		switch r.typeURL {
		case clusterType:
			err = s.follow(r.names, r.removed, endpointType, endpoints)
		case scopeType:
			err = s.follow(r.routes, routesOf(r.removed), routeType, routes)
		}
		if err != nil {
			return err
		}
		c.got(r)
	}
}

// follow subscribes to the resources of a type that new resources refer to, and unsubscribes from those of removed
// ones. Endpoints are named like their cluster.
func (s *stream) follow(names, removed []string, typeURL string, subscribed map[string]bool) error {
	change := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL}
	for _, name := range names {
		if !subscribed[name] {
			subscribed[name] = true
			change.ResourceNamesSubscribe = append(change.ResourceNamesSubscribe, name)
		}
	}
	for _, name := range removed {
		if subscribed[name] {
			delete(subscribed, name)
			change.ResourceNamesUnsubscribe = append(change.ResourceNamesUnsubscribe, name)
		}
	}
	if len(change.ResourceNamesSubscribe)+len(change.ResourceNamesUnsubscribe) == 0 {
		return nil
	}
	return s.request(change)
}

// routesOf returns the names of the routes of removed scopes: the end of the name of one of their scopes.
func routesOf(scopes []string) []string {
	out := make([]string, len(scopes))
	for i, name := range scopes {
		_, out[i], _ = strings.Cut(name, scopePath)
	}
	return out
}

const scopePath = "/envoy.config.route.v3.ScopedRouteConfiguration/"

// countingConn counts the bytes read from a connection, including TLS records.
type countingConn struct {
	net.Conn
	total *atomic.Int64
}

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.total.Add(int64(n))
	return n, err
}
