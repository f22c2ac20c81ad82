package xds

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
	"anymesh.dev/anymesh/internal/h2frame"
)

// DefaultMaxConnections is the default of Options.MaxConnections.
const DefaultMaxConnections = 20_000

// Limit is a limit on the use of the server by clients: a field of Options, or a constant of package grpcserver.
type Limit struct {
	// Name is the field or the constant.
	Name string
	// Default is the default value with its unit.
	Default string
	// Metric is the series that counts events in which the limit was exceeded.
	Metric string
	// Text describes what is limited, and the effect of exceeding the limit.
	Text string
}

// Limits lists all limits, those of Options in their order.
func Limits() []Limit {
	all := make([]Limit, 0, len(limits))
	for _, l := range limits {
		all = append(all, Limit{Name: l.name, Default: l.value(), Metric: l.metric, Text: l.text})
	}
	return append(all, transportLimits...)
}

// transportLimits are constants of package grpcserver.
var transportLimits = []Limit{
	{
		"HandshakeTimeout", grpcserver.HandshakeTimeout.String(), refusedMetric(reasonHandshake),
		"Time for the TLS handshake and the HTTP/2 preface. Then the connection is closed.",
	},
	{
		"MaxHandshakeSize", strconv.Itoa(grpcserver.MaxHandshakeSize>>10) + " KiB", refusedMetric(reasonHandshake),
		"Bytes that a client sends until the end of the TLS handshake. With more, the connection is closed.",
	},
	{
		"MaxHeaderListSize", strconv.Itoa(grpcserver.MaxHeaderListSize>>10) + " KiB", refusedMetric(reasonHeaderSize),
		"Length of the headers of a stream. A stream with longer ones is refused. The connection is closed if they have more than twice the length.",
	},
	{
		"PingTimeout", grpcserver.PingTimeout.String(), refusedMetric(reasonPing),
		"Time from a PING, which the server sends after 30 s without a frame, to a frame of the client. Then the connection is closed, after a minute if responses are still written.",
	},
	{
		"MessageTimeout", grpcserver.MessageTimeout.String(), refusedMetric(reasonUnfinished),
		"Time in which a client sends the rest of a request of more than 32 KiB, once its bytes fit. Then the connection is closed.",
	},
	{
		"MaxConnectionIdle", grpcserver.MaxConnectionIdle.String(), refusedMetric(reasonIdle),
		"Time without streams after which a connection is closed, with a precision of 30 s.",
	},
	{
		"CloseTimeout", grpcserver.CloseTimeout.String(), refusedMetric(reasonCloseTimeout),
		"Time in which a client closes its connection after GOAWAY and the end of its streams. Then the server closes it.",
	},
	{
		"MaxEndedStreams", strconv.Itoa(h2frame.MaxEndedStreams), refusedMetric(reasonProtocol),
		"Ended streams of a connection that are known. The connection is closed after HEADERS of an older one, which RFC 9113 forbids, or which the client sent before 32 later streams ended.",
	},
	{
		"MaxHealthRequest", strconv.Itoa(grpcserver.MaxHealthRequest>>10) + " KiB", refusedMetric(reasonHealthRequest),
		"Length of a request to the health service. A longer one gets INVALID_ARGUMENT.",
	},
}

type limit struct {
	name, unit, metric, text string

	number        func(*Options) *int
	defaultNumber int
	time          func(*Options) *time.Duration
	defaultTime   time.Duration
}

func (l limit) value() string {
	switch {
	case l.time != nil:
		return l.defaultTime.String()
	case l.unit == inBytes && l.defaultNumber >= 1<<20:
		return fmt.Sprintf("%d MiB", l.defaultNumber>>20)
	case l.unit == inBytes:
		return fmt.Sprintf("%d KiB", l.defaultNumber>>10)
	}
	return strconv.Itoa(l.defaultNumber)
}

const inBytes = "bytes"

// Values of the label reason of refused_total, then of closed_streams_total.
const (
	reasonPermissionDenied       = "permission_denied"
	reasonMaxConnections         = string(grpcserver.RefusedMaxConnections)
	reasonHandshake              = string(grpcserver.RefusedHandshake)
	reasonMaxHandshakes          = string(grpcserver.RefusedMaxHandshakes)
	reasonHandshakesPerSource    = string(grpcserver.RefusedMaxHandshakesPerSource)
	reasonConnectionsPerCert     = string(grpcserver.RefusedMaxConnectionsPerClient)
	reasonUnfinished             = string(grpcserver.RefusedUnfinished)
	reasonFrameRate              = string(grpcserver.RefusedFrameRate)
	reasonProtocol               = string(grpcserver.RefusedProtocol)
	reasonHeaderSize             = string(grpcserver.RefusedHeaderSize)
	reasonPing                   = string(grpcserver.RefusedPing)
	reasonIdle                   = string(grpcserver.RefusedIdle)
	reasonCloseTimeout           = string(grpcserver.RefusedLateClose)
	reasonHealthRequest          = string(grpcserver.RefusedHealthRequest)
	reasonConnectionsPerIdentity = "connections_per_identity"
	reasonStreamsPerIdentity     = "streams_per_identity"
	reasonMaxStreams             = "max_streams"
	reasonStreamRate             = "stream_rate"
	reasonSubscriptionSize       = "subscription_size"
	reasonResourceTypes          = "resource_types"
	reasonResourceNames          = "resource_names"
	reasonResourceName           = "resource_name"
	reasonNode                   = "node"
	reasonRequestSize            = "request_size"
	reasonMalformed              = "malformed"

	reasonSendTimeout         = "send_timeout"
	reasonFirstRequestTimeout = "first_request_timeout"
	reasonCertificateExpired  = "certificate_expired"
	reasonMaxConnectionAge    = "max_connection_age"
	reasonShutdown            = "shutdown"
	reasonRemoved             = "workload_removed"
	reasonInvalidRequest      = "invalid_request"
)

var (
	refusedReasons = []string{
		reasonPermissionDenied, reasonMaxConnections, reasonMaxHandshakes, reasonHandshakesPerSource, reasonHandshake,
		reasonFrameRate, reasonHeaderSize, reasonPing, reasonIdle, reasonCloseTimeout, reasonHealthRequest,
		reasonProtocol, reasonConnectionsPerCert, reasonUnfinished, reasonConnectionsPerIdentity,
		reasonStreamsPerIdentity, reasonMaxStreams, reasonStreamRate, reasonResourceTypes, reasonSubscriptionSize,
		reasonResourceNames, reasonResourceName, reasonNode, reasonRequestSize, reasonMalformed,
	}
	closedReasons = []string{
		reasonSendTimeout, reasonFirstRequestTimeout, reasonCertificateExpired, reasonMaxConnectionAge, reasonShutdown,
		reasonRemoved, reasonInvalidRequest,
	}
)

func refusedMetric(reason string) string { return `anymesh_xds_refused_total{reason="` + reason + `"}` }
func closedMetric(reason string) string {
	return `anymesh_xds_closed_streams_total{reason="` + reason + `"}`
}

var limits = []limit{
	{name: "SendTimeout", time: func(o *Options) *time.Duration { return &o.SendTimeout }, defaultTime: 30 * time.Second, metric: closedMetric(reasonSendTimeout),
		text: "Maximum duration of sending one response, with a precision of 5 s. The connection is closed when it " +
			"is exceeded."},
	{name: "FirstRequestTimeout", time: func(o *Options) *time.Duration { return &o.FirstRequestTimeout }, defaultTime: 10 * time.Second, metric: closedMetric(reasonFirstRequestTimeout),
		text: "Maximum time from opening a stream to its first request. The connection is closed when it is exceeded."},
	{name: "AckTimeout", time: func(o *Options) *time.Duration { return &o.AckTimeout }, defaultTime: 5 * time.Second, metric: `anymesh_xds_acks_total{result="timeout"}`,
		text: "Maximum time that later responses, of the same type and of types later in the update order, wait for the ACK of a response."},
	{name: "MaxConnectionAge", time: func(o *Options) *time.Duration { return &o.MaxConnectionAge }, defaultTime: 30 * time.Minute, metric: closedMetric(reasonMaxConnectionAge),
		text: "Age of a connection, with a jitter of 10 %, after which the server sends GOAWAY, so that clients spread over all replicas."},
	{name: "DrainTime", time: func(o *Options) *time.Duration { return &o.DrainTime }, defaultTime: 5 * time.Second, metric: closedMetric(reasonShutdown),
		text: "Time from GOAWAY until the streams of a connection are closed with UNAVAILABLE. At shutdown, each connection has a random part of it."},
	{name: "MaxConnections", number: func(o *Options) *int { return &o.MaxConnections }, defaultNumber: DefaultMaxConnections, metric: refusedMetric(reasonMaxConnections),
		text: "Open connections of all clients. A further connection is closed before the TLS handshake."},
	{name: "MaxConnectionsPerCertificate", number: func(o *Options) *int { return &o.MaxConnectionsPerCertificate }, defaultNumber: 8, metric: refusedMetric(reasonConnectionsPerCert),
		text: "Connections of one client certificate, with or without streams. A further connection is closed after the TLS handshake."},
	{name: "MaxHandshakes", number: func(o *Options) *int { return &o.MaxHandshakes }, defaultNumber: 64, metric: refusedMetric(reasonMaxHandshakes),
		text: "TLS handshakes in progress, of all clients. A further connection waits; the oldest handshake is closed if it takes longer than 2 s."},
	{name: "MaxHandshakesPerSource", number: func(o *Options) *int { return &o.MaxHandshakesPerSource }, defaultNumber: 16, metric: refusedMetric(reasonHandshakesPerSource),
		text: "TLS handshakes in progress of one address, except loopback. A further connection is reset at once."},
	{name: "MaxConnectionsPerIdentity", number: func(o *Options) *int { return &o.MaxConnectionsPerIdentity }, defaultNumber: 4, metric: refusedMetric(reasonConnectionsPerIdentity),
		text: "Connections with streams of one identity. A sidecar that reconnects has two. A stream on a further connection is refused."},
	{name: "MaxStreamsPerIdentity", number: func(o *Options) *int { return &o.MaxStreamsPerIdentity }, defaultNumber: 8, metric: refusedMetric(reasonStreamsPerIdentity),
		text: "Open streams of one identity, in both protocol variants, and of one connection. A further stream is refused."},
	{name: "MaxStreams", number: func(o *Options) *int { return &o.MaxStreams }, defaultNumber: 40_000, metric: refusedMetric(reasonMaxStreams),
		text: "Open streams of all identities. Beyond it, a stream of the identity with the most streams is closed, or the new stream is refused if its identity has as many."},
	{name: "MaxStreamsPerMinute", number: func(o *Options) *int { return &o.MaxStreamsPerMinute }, defaultNumber: 60, metric: refusedMetric(reasonStreamRate),
		text: "Average number of streams that one identity opens per minute. A further stream is refused."},
	{name: "MaxStreamBurst", number: func(o *Options) *int { return &o.MaxStreamBurst }, defaultNumber: 30, metric: refusedMetric(reasonStreamRate),
		text: "Burst of new streams of one identity, beyond the average."},
	{name: "MaxFramesPerSecond", number: func(o *Options) *int { return &o.MaxFramesPerSecond }, defaultNumber: 20, metric: refusedMetric(reasonFrameRate),
		text: "Average rate per connection of HTTP/2 control frames, frames that open or reset streams, and empty frames. Each sent DATA frame permits four more, with which clients respond to data. The connection is closed when the rate is exceeded."},
	{name: "MaxFrameBurst", number: func(o *Options) *int { return &o.MaxFrameBurst }, defaultNumber: 200, metric: refusedMetric(reasonFrameRate),
		text: "Burst of such frames, beyond the average."},
	{name: "MaxTypesPerStream", number: func(o *Options) *int { return &o.MaxTypesPerStream }, defaultNumber: 32, metric: refusedMetric(reasonResourceTypes),
		text: "Resource types of one stream. A request for a further type closes the stream."},
	{name: "MaxNamesPerType", number: func(o *Options) *int { return &o.MaxNamesPerType }, defaultNumber: 100_000, metric: refusedMetric(reasonResourceNames),
		text: "Names per type that one stream subscribes to, or lists in initial_resource_versions. A further name closes the stream."},
	{name: "MaxCollectionsPerType", number: func(o *Options) *int { return &o.MaxCollectionsPerType }, defaultNumber: 1000, metric: refusedMetric(reasonResourceNames),
		text: "Collections (xdstp://.../*) per type that one stream subscribes to. A further one closes the stream."},
	{name: "MaxSubscriptionSizePerIdentity", unit: inBytes, number: func(o *Options) *int { return &o.MaxSubscriptionSizePerIdentity }, defaultNumber: 3 << 20, metric: refusedMetric(reasonSubscriptionSize),
		text: "Size of the subscriptions of one identity, on all its streams: 1 KiB for each type, 384 bytes and the length for each name without a published resource, 8 bytes for each other name. A stream that exceeds it is closed."},
	{name: "MaxSubscriptionSize", unit: inBytes, number: func(o *Options) *int { return &o.MaxSubscriptionSize }, defaultNumber: 256 << 20, metric: refusedMetric(reasonSubscriptionSize),
		text: "Size of the subscriptions of all identities. Beyond it, the streams of the identity with the largest subscriptions are closed."},
	{name: "MaxUnfinishedPerCertificate", unit: inBytes, number: func(o *Options) *int { return &o.MaxUnfinishedPerCertificate }, defaultNumber: 2 << 20, metric: refusedMetric(reasonUnfinished),
		text: "Bytes of incomplete requests, and of first requests that are not authorized yet, of one client certificate. A stream that exceeds it is closed."},
	{name: "MaxUnfinished", unit: inBytes, number: func(o *Options) *int { return &o.MaxUnfinished }, defaultNumber: 24 << 20, metric: refusedMetric(reasonUnfinished),
		text: "Such bytes of all clients. A request of more than 32 KiB waits, with a closed flow-control window, until all of its bytes fit into three quarters of it. Beyond the whole, the client with the most loses the connections that have them."},
	{name: "MaxNameSize", unit: inBytes, number: func(o *Options) *int { return &o.MaxNameSize }, defaultNumber: 4 << 10, metric: refusedMetric(reasonResourceName),
		text: "Length of a resource name or type URL in a request. A longer or empty one closes the stream."},
	{name: "MaxNodeSize", unit: inBytes, number: func(o *Options) *int { return &o.MaxNodeSize }, defaultNumber: 256 << 10, metric: refusedMetric(reasonNode),
		text: "Length of the node in the first request, without extensions. The stream is refused when it is exceeded. Only ID and cluster of the node are stored."},
	{name: "MaxRequestSize", unit: inBytes, number: func(o *Options) *int { return &o.MaxRequestSize }, defaultNumber: 2 << 20, metric: refusedMetric(reasonRequestSize),
		text: "Length of a request. A longer request closes the stream before it is decoded. A sidecar that reconnects lists the versions of its resources: about 20 000 of one type fit."},
	{name: "MaxResponseSize", unit: inBytes, number: func(o *Options) *int { return &o.MaxResponseSize }, defaultNumber: 16 << 20, metric: "anymesh_xds_responses_total",
		text: "Length at which a response is split into several. A single resource is never split, and neither is a SotW response of clusters or listeners."},
}

// refusal is an error with the value of its reason label.
type refusal struct {
	reason string
	code   codes.Code
	text   string
}

func refuse(reason string, code codes.Code, format string, args ...any) error {
	return &refusal{reason, code, fmt.Sprintf(format, args...)}
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// GRPCStatus is the status that the client receives.
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.code, r.text) }
