package model

import "time"

// Protocol is what two sides speak over a connection.
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

// Requests tells whether the protocol carries requests with a host, a path and headers.
func (p Protocol) Requests() bool {
	return p == HTTP || p == HTTP2 || p == GRPC || p == WebSocket
}

// Multiplexed tells whether the protocol carries many requests over one connection at a time.
func (p Protocol) Multiplexed() bool { return p == HTTP2 || p == GRPC }

// Duration is a time span that reads as text ("15s") in JSON and YAML. Zero means "no limit" wherever the model has one.
type Duration time.Duration

// MarshalText gives the text of time.Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText takes the text of time.Duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// Timeouts bound one hop. Dialects fill in their defaults, so that zero always means "no limit".
type Timeouts struct {
	// Request bounds a request from its first byte to the end of the answer, retries included.
	Request Duration `json:"request,omitzero"`
	// Idle bounds how long a stream or connection may be silent.
	Idle Duration `json:"idle,omitzero"`
}
