package grpcserver

import (
	"crypto/tls"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// Options configures a server. A zero limit means no limit.
type Options struct {
	// TLS is the server's configuration. Nil disables TLS; clients must then use HTTP/2 with prior knowledge.
	TLS *tls.Config
	// Methods maps method paths, "/package.Service/Method", to functions that create the handler of a new stream.
	// They must not block.
	Methods map[string]func(*Stream) StreamHandler
	// Workers is the pool that reads connections. Nil creates a pool for this server.
	Workers *socket.WorkerPool
	// MaxConnections limits open connections. A further connection is closed before the TLS handshake.
	MaxConnections int
	// MaxConnectionsPerClient limits the connections of a certificate, or without TLS of an address. A further
	// connection is closed after the handshake.
	MaxConnectionsPerClient int
	// MaxHandshakes limits the handshakes in progress. A further connection waits; the oldest handshake is closed if it
	// takes longer than 2 seconds.
	MaxHandshakes int
	// MaxHandshakesPerSource limits those of one address other than loopback. A further connection is reset at once, so
	// that one host cannot use up MaxHandshakes.
	MaxHandshakesPerSource int
	// MaxUnfinishedPerClient limits the bytes of received messages of a client that are incomplete, or first of their
	// stream and not handled yet. A further message ends its stream. MaxUnfinished limits those of all clients: a long
	// message is received when there is room for all of it. Beyond the limit, the client with the most loses the
	// connections that have such bytes.
	MaxUnfinishedPerClient, MaxUnfinished int
	// UnfinishedBytes receives the bytes that MaxUnfinished limits, unless it is nil.
	UnfinishedBytes *atomic.Int64
	// MaxConcurrentStreams limits the streams of a connection. A further stream is refused.
	MaxConcurrentStreams int
	// MaxRecvMsgSize limits received messages, in bytes. A larger message ends its stream before it is read.
	MaxRecvMsgSize int
	// MaxFramesPerSecond and MaxFrameBurst limit, per connection, the rate of control frames, of frames that open or
	// reset streams, and of empty frames. Each sent DATA frame permits four more. Exceeding the limit closes the
	// connection.
	MaxFramesPerSecond, MaxFrameBurst int
	// MaxConnectionAge is the age, with a jitter of 10 %, after which a connection is drained, so that clients spread
	// over all replicas.
	MaxConnectionAge time.Duration
	// DrainTime is the time between the GOAWAY of a drained connection and the end of its streams. At shutdown, the
	// streams of each connection end at a random point of this time, so that not all clients reconnect at once.
	DrainTime time.Duration
	// HealthServices are the names of services whose status the gRPC health service reports, besides the empty name.
	HealthServices []string
	// OnRefused is called when the server refuses or closes a connection or a stream.
	OnRefused func(RefusalReason)
}

// RefusalReason is the reason why the server refused or closed a connection.
type RefusalReason string

// Reasons of refused and closed connections.
const (
	// RefusedMaxConnections: MaxConnections was exceeded.
	RefusedMaxConnections RefusalReason = "max_connections"
	// RefusedMaxConnectionsPerClient: MaxConnectionsPerClient was exceeded.
	RefusedMaxConnectionsPerClient RefusalReason = "connections_per_certificate"
	// RefusedMaxHandshakes: MaxHandshakes was exceeded.
	RefusedMaxHandshakes RefusalReason = "max_handshakes"
	// RefusedMaxHandshakesPerSource: MaxHandshakesPerSource was exceeded.
	RefusedMaxHandshakesPerSource RefusalReason = "handshakes_per_source"
	// RefusedUnfinished: MaxUnfinishedPerClient or MaxUnfinished was exceeded.
	RefusedUnfinished RefusalReason = "unfinished_messages"
	// RefusedHandshake: the TLS handshake or the HTTP/2 connection preface failed.
	RefusedHandshake RefusalReason = "handshake"
	// RefusedFrameRate: MaxFramesPerSecond and MaxFrameBurst were exceeded.
	RefusedFrameRate RefusalReason = "frame_rate"
	// RefusedProtocol: the client violated the HTTP/2 protocol.
	RefusedProtocol RefusalReason = "protocol"
	// RefusedHeaderSize: the headers of a stream have more than MaxHeaderListSize.
	RefusedHeaderSize RefusalReason = "header_size"
	// RefusedPing: the client did not respond to a PING within PingTimeout.
	RefusedPing RefusalReason = "ping_timeout"
	// RefusedIdle: the connection had no stream for MaxConnectionIdle.
	RefusedIdle RefusalReason = "idle"
	// RefusedLateClose: the client did not close the connection within CloseTimeout after its end was announced.
	RefusedLateClose RefusalReason = "close_timeout"
	// RefusedHealthRequest: a request of the health service has more than MaxHealthRequest.
	RefusedHealthRequest RefusalReason = "health_request"
)

// StreamHandler handles the input of one stream. Its methods are called one at a time. The first message may take any
// time: it is handled in its own goroutine. During all other calls the connection is not read; it is closed when a
// call takes longer than half a minute.
type StreamHandler interface {
	// OnMessage handles a message. The slice is valid until it returns.
	OnMessage(message []byte)
	// OnEnd reports the end of the input: nil after END_STREAM, else an error, with a gRPC status if the client
	// violated the protocol. It is the last call. It is not called after Stream.Finish, unless both occur at the same
	// time. The stream must then be finished.
	OnEnd(err error)
}
