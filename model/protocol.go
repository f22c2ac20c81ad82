package model

import (
	"slices"
	"time"
)

// Protocol is the application protocol of a connection.
type Protocol string

// The protocols of all dialects. TLS is not a protocol but a property of a hop.
const (
	HTTP       Protocol = "http"
	HTTP2      Protocol = "http2"
	GRPC       Protocol = "grpc"
	TCP        Protocol = "tcp"
	UDP        Protocol = "udp"
	WebSocket  Protocol = "websocket"
	Unix       Protocol = "unix"
	JSONSocket Protocol = "jsonsocket"
)

// The protocols of destinations that the sidecar serves itself, as the l7mp proxy has them.
const (
	// Discard takes everything and returns nothing; Echo returns it.
	Discard Protocol = "discard"
	Echo    Protocol = "echo"
	// JSONEncap puts each message into a JSON object with the metadata of the session; JSONDecap takes it out.
	JSONEncap Protocol = "jsonencap"
	JSONDecap Protocol = "jsondecap"
	// Logger returns everything, and writes it to a file.
	Logger Protocol = "logger"
	// Prometheus answers requests with the metrics of the sidecar.
	Prometheus Protocol = "prometheus"
	// Sync sends what it gets to the other sessions with the same label.
	Sync Protocol = "sync"
)

// localProtocols are the protocols of destinations that the sidecar serves itself.
var localProtocols = []Protocol{Discard, Echo, JSONDecap, JSONEncap, Logger, Prometheus, Sync}

// Local reports whether the sidecar itself serves destinations of the protocol.
func (p Protocol) Local() bool { return slices.Contains(localProtocols, p) }

// Requests reports whether the protocol has requests with a host, a path and headers.
func (p Protocol) Requests() bool {
	return p == HTTP || p == HTTP2 || p == GRPC || p == WebSocket
}

// Multiplexed reports whether the protocol multiplexes requests over one connection.
func (p Protocol) Multiplexed() bool { return p == HTTP2 || p == GRPC }

// Duration is a duration that is encoded as text ("15s") in JSON and YAML. Zero means "no limit".
type Duration time.Duration

// MarshalText returns the format of time.Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses the format of time.Duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// UDPIdle ends sessions of UDP clients without packets: nothing else tells their end. A listener for one peer keeps its
// session.
const UDPIdle = Duration(time.Minute)

// Timeouts limit one hop. Dialects set their defaults, so zero always means "no limit", except UDPIdle.
type Timeouts struct {
	// Request limits the time from the first byte of a request to the end of the response, including retries.
	Request Duration `json:"request,omitzero"`
	// Idle limits the time without activity on a stream or connection.
	Idle Duration `json:"idle,omitzero"`
}
