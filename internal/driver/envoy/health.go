package envoy

import (
	"math"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// healthMergeWindow is how long Envoy collects changes of the health of endpoints before it applies them. With its
// default of one second, endpoints that are known to fail get further requests.
const healthMergeWindow = 50 * time.Millisecond

// setHealth adds health check and outlier detection of a destination to its cluster.
func setHealth(cluster *clusterv3.Cluster, d model.Destination) {
	if d.HealthCheck == nil && d.OutlierDetection == nil {
		return
	}
	cluster.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{
		HealthyPanicThreshold: &typev3.Percent{Value: float64(d.PanicThreshold)},
		UpdateMergeWindow:     durationpb.New(healthMergeWindow),
	}
	if d.HealthCheck != nil {
		cluster.HealthChecks = []*corev3.HealthCheck{healthCheck(d.HealthCheck)}
		// Without this, Envoy uses an endpoint that was removed until it fails a check.
		cluster.IgnoreHealthOnHostRemoval = true
	}
	if o := d.OutlierDetection; o != nil {
		cluster.OutlierDetection = &clusterv3.OutlierDetection{
			Consecutive_5Xx:          wrapperspb.UInt32(o.ServerErrors),
			Interval:                 duration(o.Interval),
			BaseEjectionTime:         duration(o.BaseEjection),
			MaxEjectionPercent:       wrapperspb.UInt32(o.MaxEjectedPercent),
			AlwaysEjectOneHost:       wrapperspb.Bool(true),
			EnforcingConsecutive_5Xx: wrapperspb.UInt32(100),
			// Envoy compares the success rates of endpoints, too, unless this is 0.
			EnforcingSuccessRate: wrapperspb.UInt32(0),
			// Otherwise the next health check that passes ends an ejection before its time.
			SuccessfulActiveHealthCheckUnejectHost: wrapperspb.Bool(false),
		}
	}
}

// healthCheck renders a health check. Envoy's interval is longer for clusters without traffic: an endpoint would be
// found late.
func healthCheck(h *model.HealthCheck) *corev3.HealthCheck {
	out := &corev3.HealthCheck{
		Interval: duration(h.Interval), NoTrafficInterval: duration(h.Interval), Timeout: duration(h.Timeout),
		HealthyThreshold:   wrapperspb.UInt32(h.HealthyThreshold),
		UnhealthyThreshold: wrapperspb.UInt32(h.UnhealthyThreshold),
	}
	codec := typev3.CodecClientType_HTTP1
	switch h.Protocol {
	case model.GRPC:
		out.HealthChecker = &corev3.HealthCheck_GrpcHealthCheck_{
			GrpcHealthCheck: &corev3.HealthCheck_GrpcHealthCheck{Authority: h.Host},
		}
		return out
	case model.TCP:
		out.HealthChecker = &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}}
		return out
	case model.HTTP2:
		codec = typev3.CodecClientType_HTTP2
	}
	out.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{
		Host: h.Host, Path: h.Path, CodecClientType: codec,
	}}
	return out
}

// circuitBreakers renders the limits of a listener. Envoy's defaults do not apply: without limits, there are none.
func circuitBreakers(b *model.CircuitBreaker) *clusterv3.CircuitBreakers {
	if b == nil {
		b = &model.CircuitBreaker{}
	}
	limit := func(n uint32) *wrapperspb.UInt32Value {
		if n == 0 {
			n = math.MaxUint32
		}
		return wrapperspb.UInt32(n)
	}
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: limit(b.MaxConnections), MaxPendingRequests: limit(b.MaxPending), MaxRequests: limit(b.MaxRequests),
		MaxRetries: limit(0),
	}}}
}
