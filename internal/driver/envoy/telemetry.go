package envoy

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// collectorCluster is the receiver of spans.
const collectorCluster = "collector"

// xrayFixedTarget is the number of requests per second that X-Ray traces before it applies the rate, as in App Mesh.
const xrayFixedTarget = 1

// service names the workload in spans and metrics.
func (p proxy) service() string { return cmp.Or(p.Service, p.node) }

// tracing returns the tracer of all HTTP connection managers; nil for none. The field of the bootstrap is deprecated,
// but a tracer in the connection managers would be the same for all pods of a workload.
func tracing(p proxy) *tracev3.Tracing {
	t := p.Tracing
	if t == nil {
		return nil
	}
	service := cmp.Or(t.Service, p.service())
	var config proto.Message
	switch t.Protocol {
	case sidecar.TracingXRay:
		config = xrayTracer(t, service)
	case sidecar.TracingZipkin:
		zipkin := &tracev3.ZipkinConfig{
			CollectorCluster: collectorCluster, CollectorEndpoint: "/api/v2/spans",
			CollectorEndpointVersion: tracev3.ZipkinConfig_HTTP_PROTO, SharedSpanContext: wrapperspb.Bool(false),
		}
		if t.JSON {
			zipkin.CollectorEndpointVersion = tracev3.ZipkinConfig_HTTP_JSON
		}
		config = zipkin
	case sidecar.TracingDatadog:
		config = &tracev3.DatadogConfig{CollectorCluster: collectorCluster, ServiceName: service}
	case sidecar.TracingOpenTelemetry:
		config = &tracev3.OpenTelemetryConfig{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
				EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: collectorCluster},
			},
		}, ServiceName: service}
	default:
		return nil // checkTracing refuses it
	}
	return &tracev3.Tracing{Http: &tracev3.Tracing_Http{
		Name: tracerNames[t.Protocol], ConfigType: &tracev3.Tracing_Http_TypedConfig{TypedConfig: typedConfig(config)},
	}}
}

var tracerNames = map[sidecar.TracingProtocol]string{
	sidecar.TracingXRay: "envoy.tracers.xray", sidecar.TracingZipkin: "envoy.tracers.zipkin",
	sidecar.TracingDatadog: "envoy.tracers.datadog", sidecar.TracingOpenTelemetry: "envoy.tracers.opentelemetry",
}

// checkTracing returns an error for a protocol that the driver does not know.
func checkTracing(t *sidecar.Tracing) error {
	if t != nil && tracerNames[t.Protocol] == "" {
		return fmt.Errorf("spans of protocol %q are not supported", t.Protocol)
	}
	return nil
}

// xrayTracer returns the tracer of X-Ray, which has sampling rules of its own.
func xrayTracer(t *sidecar.Tracing, service string) *tracev3.XRayConfig {
	out := &tracev3.XRayConfig{
		SegmentName: service,
		DaemonEndpoint: &corev3.SocketAddress{
			Protocol: corev3.SocketAddress_UDP, Address: t.Address,
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(t.Port)},
		},
	}
	switch {
	case t.SamplingRules != "":
		out.SamplingRuleManifest = &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: t.SamplingRules}}
	case t.SamplingRate != nil:
		out.SamplingRuleManifest = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: fmt.Sprintf(
			`{"version": 2, "default": {"fixed_target": %d, "rate": %g}, "rules": []}`, xrayFixedTarget, *t.SamplingRate)}}
	}
	if t.Origin == "" {
		return out
	}
	out.SegmentFields = &tracev3.XRayConfig_SegmentFields{
		Origin: t.Origin, Aws: &structpb.Struct{Fields: map[string]*structpb.Value{}},
	}
	for block, fields := range t.Fields {
		content := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for name, value := range fields {
			content.Fields[name] = structpb.NewStringValue(value)
		}
		out.SegmentFields.Aws.Fields[block] = structpb.NewStructValue(content)
	}
	return out
}

// samplingRate is the runtime value for requests without a sampling decision; nil for all of them. X-Ray samples them
// itself.
func samplingRate(p proxy) *structpb.Value {
	if p.Tracing == nil || p.Tracing.SamplingRate == nil || p.Tracing.Protocol == sidecar.TracingXRay {
		return nil
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"numerator":   structpb.NewNumberValue(math.Round(*p.Tracing.SamplingRate * 1e4)),
		"denominator": structpb.NewStringValue("TEN_THOUSAND"),
	}})
}

// receivers returns the part of the bootstrap with the addresses of the receivers of spans and metrics: those that are
// known at injection, or those that refer to environment variables.
func receivers(p proxy, references bool) *bootstrapv3.Bootstrap {
	out := &bootstrapv3.Bootstrap{}
	refers := func(address string) bool { return strings.Contains(address, "$(") }
	if t := p.Tracing; t != nil && t.Protocol != sidecar.TracingXRay && refers(t.Address) == references {
		cluster := &clusterv3.Cluster{
			Name:                 collectorCluster,
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS},
			DnsLookupFamily:      clusterv3.Cluster_V4_PREFERRED,
			ConnectTimeout:       durationpb.New(connectTimeout),
			LoadAssignment:       staticLoadAssignment(collectorCluster, t.Address, uint32(t.Port)),
		}
		if t.Protocol == sidecar.TracingOpenTelemetry {
			cluster.TypedExtensionProtocolOptions = protocolOptions(model.GRPC)
		}
		out.StaticResources = &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{cluster}}
	}
	if s := p.Statsd; s != nil && refers(s.Address) == references {
		address := &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: s.Socket}}}
		if s.Socket == "" {
			address = socketAddress(s.Address, uint32(s.Port))
			address.GetSocketAddress().Protocol = corev3.SocketAddress_UDP
		}
		out.StatsSinks = []*metricsv3.StatsSink{{
			Name: "envoy.stat_sinks.dog_statsd",
			ConfigType: &metricsv3.StatsSink_TypedConfig{TypedConfig: typedConfig(&metricsv3.DogStatsdSink{
				DogStatsdSpecifier: &metricsv3.DogStatsdSink_Address{Address: address},
			})},
		}}
	}
	return out
}
