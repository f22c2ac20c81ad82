package main

import (
	"context"
	"crypto/tls"
	"net"
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

// subscriptions returns the subscriptions of a sidecar: all clusters and listeners, and a route configuration. The
// endpoints follow from the clusters.
func subscriptions(node *corev3.Node, routes string) []*discoveryv3.DeltaDiscoveryRequest {
	return []*discoveryv3.DeltaDiscoveryRequest{
		{Node: node, TypeUrl: clusterType},
		{TypeUrl: listenerType},
		{TypeUrl: routeType, ResourceNamesSubscribe: []string{routes}},
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
	endpoints := map[string]bool{} // subscribed, of this stream
	for {
		r, err := s.response()
		if err != nil {
			return err
		}
		if err := s.acknowledge(r); err != nil {
			return err
		}
		if r.typeURL == clusterType {
			if err := s.followClusters(r, endpoints); err != nil {
				return err
			}
		}
		c.got(r)
	}
}

// followClusters subscribes to the endpoints of new clusters, and unsubscribes from those of removed ones.
func (s *stream) followClusters(r response, subscribed map[string]bool) error {
	change := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpointType}
	for _, name := range r.names {
		if !subscribed[name] {
			subscribed[name] = true
			change.ResourceNamesSubscribe = append(change.ResourceNamesSubscribe, name)
		}
	}
	for _, name := range r.removed {
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
