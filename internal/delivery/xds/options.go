package xds

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options tune a Server. A zero field has the default given with it.
type Options struct {
	// TLS is the server's side of mutual TLS. Nil means no TLS at all, which
	// only an Authorizer that needs no certificate can accept.
	TLS *tls.Config
	// Observer hears what clients make of their configuration; nobody.
	Observer Observer
	// Registerer is where the metrics go; nowhere.
	Registerer prometheus.Registerer
	// Logger is slog.Default().
	Logger *slog.Logger

	// The rest are limits; Limits says what each is for, and its default.

	SendTimeout            time.Duration
	FirstRequestTimeout    time.Duration
	AckTimeout             time.Duration
	Connections            int
	ConnectionsPerIdentity int
	StreamsPerIdentity     int
	StreamsPerMinute       int
	StreamBurst            int
	FramesPerSecond        int
	FrameBurst             int
	TypesPerStream         int
	NamesPerType           int
	NameSize               int
	NodeSize               int
	RequestSize            int
	ResponseSize           int
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
		o.Observer = nobody{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Observer hears what clients make of their configuration. The identity is the
// one of the Grant. Calls about one key come one after the other, in the order
// of what they tell, from the streams' goroutines; they must not block.
type Observer interface {
	// Acked: of all that the client was sent of the type, up to the version, it
	// refuses nothing.
	Acked(key, identity, typeURL, version string)
	// Rejected: the client refused a response with these resources, and why; none
	// are named if all were replaced meanwhile. It keeps what it had; a resource
	// is sent again when its content changes.
	Rejected(key, identity, typeURL string, names []string, message string)
	// Gone: the last stream of the client ended. What it refused says nothing any more.
	Gone(key, identity string)
}

type nobody struct{}

func (nobody) Acked(string, string, string, string)              {}
func (nobody) Rejected(string, string, string, []string, string) {}
func (nobody) Gone(string, string)                               {}
