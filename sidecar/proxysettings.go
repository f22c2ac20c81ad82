package sidecar

import "time"

// ProxySettings are the settings of the proxy of one pod. The zero value has the defaults of the driver.
//
// A text may refer to an environment variable of the container of the sidecar as $(NAME). A driver must put such texts
// into the command of its Spec, where Kubernetes replaces references, and not into files.
type ProxySettings struct {
	// Service is the name of the workload in spans and metrics. The default is the node ID.
	Service string
	// LogLevel takes precedence over that of the Configurator.
	LogLevel string
	// Concurrency is the number of worker threads.
	Concurrency int
	// DrainTime is how long connections of a removed listener are served. Nil means the default.
	DrainTime *time.Duration
	// FetchTimeout is how long the proxy waits for its first listeners and clusters; after this time it starts without
	// them. 0 means no limit.
	FetchTimeout time.Duration
	// StatsPort is the port of metrics and readiness. StatsIPv6 makes the proxy accept IPv6 there, too.
	StatsPort uint16
	StatsIPv6 bool
	// NoStatsTags omits Workload.StatsTags.
	NoStatsTags bool
	// Statsd is the receiver of metrics; nil means none.
	Statsd *Statsd
	// StatsFlushInterval is the interval of messages to Statsd.
	StatsFlushInterval time.Duration
	// Tracing is the receiver of spans; nil means that requests are not traced.
	Tracing *Tracing
	// ConfigFiles are files in the container with configuration for the proxy, which takes precedence over that of the
	// driver.
	ConfigFiles []string
}

// Statsd is a receiver of DogStatsD messages: a UDP address, or a Unix domain socket.
type Statsd struct {
	// Address is an IP address.
	Address string
	Port    uint16
	Socket  string
}

// TracingProtocol is a protocol for spans.
type TracingProtocol string

// The protocols for spans.
const (
	TracingXRay          TracingProtocol = "x-ray"
	TracingZipkin        TracingProtocol = "zipkin"
	TracingDatadog       TracingProtocol = "datadog"
	TracingOpenTelemetry TracingProtocol = "opentelemetry"
)

// Tracing is a receiver of spans.
type Tracing struct {
	Protocol TracingProtocol
	// Address is a host name or an IP address; with TracingXRay an IP address.
	Address string
	Port    uint16
	// SamplingRate is the share of requests without a sampling decision that is traced, from 0 to 1. Nil means the
	// default of the protocol: 0.05 with TracingXRay, otherwise 1.
	SamplingRate *float64
	// SamplingRules is a file in the container with the sampling rules of X-Ray, which replaces SamplingRate.
	SamplingRules string
	// Service is the name of the workload in spans. The default is ProxySettings.Service.
	Service string
	// Origin and Fields describe the proxy in segments of X-Ray: the origin, and parts of the block "aws".
	Origin string
	Fields map[string]map[string]string
	// JSON makes the proxy send spans of TracingZipkin in JSON, not in protobuf.
	JSON bool
}
