package serverlimit

import (
	"net/http"
	"strings"
	"time"
)

// Limits of a connection with HTTP/2.
const (
	// MaxConcurrentStreams limits its open streams. Clients wait, or open a further connection; a further stream is
	// reset. With less, net/http would reset streams of clients that do not know the limit yet.
	MaxConcurrentStreams = 100
	// MaxReadFrameSize limits the payload of a frame. Its buffer is allocated before the payload arrives, and is kept
	// until the connection is closed. This is the least that HTTP/2 permits.
	MaxReadFrameSize = 16 << 10
)

// HTTP2 returns limits for http.Server.HTTP2. A connection is closed if its client reads nothing for writeTimeout:
// http.Server.WriteTimeout has no effect on a stream while a write to the connection waits for the client.
func HTTP2(writeTimeout time.Duration) *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams: MaxConcurrentStreams, MaxReadFrameSize: MaxReadFrameSize, WriteByteTimeout: writeTimeout,
	}
}

// failed is http.HTTP2Config.CountError.
func (o *observer) failed(what string) {
	if strings.Contains(what, "_over_max_streams") {
		o.refused(Streams)
	}
}
