package appmesh

import (
	"math"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// circuitBreaker returns the limits of a listener: those of the pool for its protocol. Other pools have no effect. It
// returns nil if there are no limits.
func (t *translator) circuitBreaker(at model.Origin, p model.Protocol,
	pool *api.VirtualNodeConnectionPool) *model.CircuitBreaker {
	if pool == nil {
		return nil
	}
	limits := map[model.Protocol]model.CircuitBreaker{}
	add := func(p model.Protocol, field string, n int64, into func(*model.CircuitBreaker, uint32)) {
		limit := limits[p]
		if n < 1 {
			t.report(at.At(at.Path+".connectionPool."+string(p)+"."+field), model.CodeInvalidField, "%d is less than 1", n)
		} else {
			into(&limit, limitOf(n))
		}
		limits[p] = limit
	}
	connections := func(b *model.CircuitBreaker, n uint32) { b.MaxConnections = n }
	requests := func(b *model.CircuitBreaker, n uint32) { b.MaxRequests = n }
	if pool.TCP != nil {
		add(model.TCP, "maxConnections", pool.TCP.MaxConnections, connections)
	}
	if h := pool.HTTP; h != nil {
		add(model.HTTP, "maxConnections", h.MaxConnections, connections)
		if h.MaxPendingRequests != nil {
			add(model.HTTP, "maxPendingRequests", *h.MaxPendingRequests,
				func(b *model.CircuitBreaker, n uint32) { b.MaxPending = n })
		}
	}
	if pool.HTTP2 != nil {
		add(model.HTTP2, "maxRequests", pool.HTTP2.MaxRequests, requests)
	}
	if pool.GRPC != nil {
		add(model.GRPC, "maxRequests", pool.GRPC.MaxRequests, requests)
	}
	for _, other := range []model.Protocol{model.HTTP, model.HTTP2, model.GRPC, model.TCP} {
		if _, set := limits[other]; set && other != p {
			t.warn(at.At(at.Path+".connectionPool."+string(other)), model.CodeInvalidField,
				"has no effect: the protocol of the listener is %s", p)
		}
	}
	limit, set := limits[p]
	if !set || limit == (model.CircuitBreaker{}) {
		return nil
	}
	return &limit
}

// gatewayPool returns the pool of a gateway as that of a VirtualNode.
func gatewayPool(p *api.VirtualGatewayConnectionPool) *api.VirtualNodeConnectionPool {
	if p == nil {
		return nil
	}
	return &api.VirtualNodeConnectionPool{HTTP: p.HTTP, HTTP2: p.HTTP2, GRPC: p.GRPC}
}

// limitOf converts a positive number; larger ones than 32 bits are the same as no limit.
func limitOf(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
