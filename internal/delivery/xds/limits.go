package xds

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
)

// Limit is a bound on what clients may do, a field of Options.
type Limit struct {
	// Name of the field of Options.
	Name string
	// Default, with its unit.
	Default string
	// Metric that counts when the limit is met, with the labels that select it.
	Metric string
	// Text says what is bounded, and what happens at the bound.
	Text string
}

// Limits lists all limits, in the order of Options.
func Limits() []Limit {
	all := make([]Limit, 0, len(limits))
	for _, l := range limits {
		all = append(all, Limit{Name: l.name, Default: l.value(), Metric: l.metric, Text: l.text})
	}
	return all
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

// Why streams are refused or ended: the values of a label.
const (
	reasonDenied      = "denied"
	reasonFull        = string(grpcserver.Full)
	reasonHandshake   = string(grpcserver.Handshake)
	reasonFrames      = string(grpcserver.Frames)
	reasonProtocol    = string(grpcserver.Protocol)
	reasonConnections = "connections"
	reasonStreams     = "streams"
	reasonRate        = "rate"
	reasonTypes       = "types"
	reasonNames       = "names"
	reasonName        = "name"
	reasonNode        = "node"
	reasonSize        = "size"
	reasonMalformed   = "malformed"

	reasonSlow    = "slow"
	reasonSilent  = "silent"
	reasonExpired = "expired"
	reasonRemoved = "removed"
	reasonRequest = "request"
)

var (
	refusals = []string{
		reasonDenied, reasonFull, reasonHandshake, reasonFrames, reasonProtocol, reasonConnections, reasonStreams, reasonRate, reasonTypes, reasonNames, reasonName,
		reasonNode, reasonSize, reasonMalformed,
	}
	ends = []string{reasonSlow, reasonSilent, reasonExpired, reasonRemoved, reasonRequest}
)

func refusedBy(reason string) string { return `anymesh_xds_refused_total{reason="` + reason + `"}` }
func endedBy(reason string) string   { return `anymesh_xds_ended_total{reason="` + reason + `"}` }

var limits = []limit{
	{name: "SendTimeout", time: func(o *Options) *time.Duration { return &o.SendTimeout }, defaultTime: 30 * time.Second, metric: endedBy(reasonSlow),
		text: "How long one response may take to leave. Then the client's connection is closed."},
	{name: "FirstRequestTimeout", time: func(o *Options) *time.Duration { return &o.FirstRequestTimeout }, defaultTime: 10 * time.Second, metric: endedBy(reasonSilent),
		text: "How long a stream may be open without a request. Then the client's connection is closed."},
	{name: "AckTimeout", time: func(o *Options) *time.Duration { return &o.AckTimeout }, defaultTime: 5 * time.Second, metric: `anymesh_xds_answers_total{result="none"}`,
		text: "How long an unanswered response holds back later ones: those of its type, and those that the order of types puts after it."},
	{name: "Connections", number: func(o *Options) *int { return &o.Connections }, defaultNumber: 20_000, metric: refusedBy(reasonFull),
		text: "Open connections of all clients. More are closed before TLS begins."},
	{name: "ConnectionsPerIdentity", number: func(o *Options) *int { return &o.ConnectionsPerIdentity }, defaultNumber: 4, metric: refusedBy(reasonConnections),
		text: "Connections on which one identity has streams: two while a sidecar is replaced or reconnects, and room for a tool. A stream on one more is refused."},
	{name: "StreamsPerIdentity", number: func(o *Options) *int { return &o.StreamsPerIdentity }, defaultNumber: 8, metric: refusedBy(reasonStreams),
		text: "Open streams of one identity, over both variants of the protocol, and of one connection. One more is refused."},
	{name: "StreamsPerMinute", number: func(o *Options) *int { return &o.StreamsPerMinute }, defaultNumber: 60, metric: refusedBy(reasonRate),
		text: "Streams that one identity may open each minute, on average. One more is refused."},
	{name: "StreamBurst", number: func(o *Options) *int { return &o.StreamBurst }, defaultNumber: 30, metric: refusedBy(reasonRate),
		text: "Streams that one identity may open at once, when it has not opened any for a while."},
	{name: "FramesPerSecond", number: func(o *Options) *int { return &o.FramesPerSecond }, defaultNumber: 20, metric: refusedBy(reasonFrames),
		text: "HTTP/2 frames of one connection that ask for an answer, open or reset streams, or say nothing, each second on average. One is free for each response. One more closes the connection."},
	{name: "FrameBurst", number: func(o *Options) *int { return &o.FrameBurst }, defaultNumber: 200, metric: refusedBy(reasonFrames),
		text: "Such frames at once, when there were none for a while."},
	{name: "TypesPerStream", number: func(o *Options) *int { return &o.TypesPerStream }, defaultNumber: 32, metric: refusedBy(reasonTypes),
		text: "Resource types that one stream asks for. One more ends it."},
	{name: "NamesPerType", number: func(o *Options) *int { return &o.NamesPerType }, defaultNumber: 100_000, metric: refusedBy(reasonNames),
		text: "Names that one stream asks for, or reports versions of, for each type. One more ends it."},
	{name: "NameSize", unit: inBytes, number: func(o *Options) *int { return &o.NameSize }, defaultNumber: 4 << 10, metric: refusedBy(reasonName),
		text: "Length of a resource's name or type in a request. A longer one ends the stream, and so does an empty one."},
	{name: "NodeSize", unit: inBytes, number: func(o *Options) *int { return &o.NodeSize }, defaultNumber: 256 << 10, metric: refusedBy(reasonNode),
		text: "Length of the node in the first request, without its extensions. With a longer one the stream is refused. Nothing of it is kept but ID and cluster."},
	{name: "RequestSize", unit: inBytes, number: func(o *Options) *int { return &o.RequestSize }, defaultNumber: 16 << 20, metric: refusedBy(reasonSize),
		text: "Length of a request. A longer one ends the stream before it is decoded."},
	{name: "ResponseSize", unit: inBytes, number: func(o *Options) *int { return &o.ResponseSize }, defaultNumber: 16 << 20, metric: "anymesh_xds_responses_total",
		text: "Length at which a response is cut and continued in the next one. One resource is never split, nor is a response that must hold all clusters or listeners."},
}

// refusal is an error with the reason that metrics give it.
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

// GRPCStatus is what the client hears.
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.code, r.text) }
