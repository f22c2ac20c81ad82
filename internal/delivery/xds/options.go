package xds

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options configures a Server. A zero field means the default given with it.
type Options struct {
	// TLS is the server's configuration of mutual TLS. Nil disables TLS; the Authorizer must then accept clients
	// without certificate.
	TLS *tls.Config
	// Observer receives ACKs, NACKs, connects and disconnects. The default ignores them.
	Observer Observer
	// Registerer registers the metrics. The default registers none.
	Registerer prometheus.Registerer
	// Logger defaults to slog.Default().
	Logger *slog.Logger

	// The other fields are limits; see Limits for their meaning, units and defaults.

	SendTimeout                    time.Duration
	FirstRequestTimeout            time.Duration
	AckTimeout                     time.Duration
	MaxConnectionAge               time.Duration
	DrainTime                      time.Duration
	MaxConnections                 int
	MaxConnectionsPerCertificate   int
	MaxHandshakes                  int
	MaxHandshakesPerSource         int
	MaxConnectionsPerIdentity      int
	MaxStreamsPerIdentity          int
	MaxStreams                     int
	MaxStreamsPerMinute            int
	MaxStreamBurst                 int
	MaxFramesPerSecond             int
	MaxFrameBurst                  int
	MaxTypesPerStream              int
	MaxNamesPerType                int
	MaxCollectionsPerType          int
	MaxSubscriptionSizePerIdentity int
	MaxSubscriptionSize            int
	MaxUnfinishedPerCertificate    int
	MaxUnfinished                  int
	MaxNameSize                    int
	MaxNodeSize                    int
	MaxRequestSize                 int
	MaxResponseSize                int
}

// WithStreams returns the options for clients that open up to a number of streams, at once when they start.
func (o Options) WithStreams(n int) Options {
	o.MaxStreamsPerIdentity, o.MaxStreamBurst, o.MaxStreamsPerMinute = n, n, n
	return o
}

func (o *Options) setDefaults() {
	for _, l := range limits {
		switch {
		case l.number != nil && *l.number(o) == 0:
			*l.number(o) = l.defaultNumber
		case l.time != nil && *l.time(o) == 0:
			*l.time(o) = l.defaultTime
		}
	}
	if o.Observer == nil {
		o.Observer = noopObserver{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Observer receives the ACKs, NACKs, connects and disconnects of clients. The identity is that of the Grant. Except for
// Connected, calls for one key are serialized, in the order of the events, and must not block: they run on the
// goroutines of the streams.
type Observer interface {
	// Connected reports that a client connected to a key that is not published. It may publish the key, and may take
	// long: the request of the client is handled when it returns, so that the client is sent only what differs from the
	// versions that it has. Other streams do not wait for it. It can be called at the same time as other methods.
	Connected(key string)
	// Acked reports that the client accepted a response, up to the version. rejected are the resources of the type that
	// it was sent before and still rejects, given as versions by name; empty for none.
	Acked(key, identity, typeURL, version string, rejected map[string]string)
	// Nacked reports that the client rejected a response with these resources, given as versions by name, and its error
	// message. rejected is empty if all of them have been replaced since. The client keeps its previous configuration.
	// A rejected resource is sent again when its content changes.
	Nacked(key, identity, typeURL string, rejected map[string]string, message string)
	// Disconnected reports that the last stream of the client closed. Its NACKs are no longer valid.
	Disconnected(key, identity string)
}

type noopObserver struct{}

func (noopObserver) Connected(string)                                         {}
func (noopObserver) Acked(string, string, string, string, map[string]string)  {}
func (noopObserver) Nacked(string, string, string, map[string]string, string) {}
func (noopObserver) Disconnected(string, string)                              {}
