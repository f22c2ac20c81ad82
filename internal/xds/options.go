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

	// SendTimeout is how long one response may take to leave; then the client's
	// connection is closed. 30 s.
	SendTimeout time.Duration
	// FirstRequestTimeout is how long a stream may be open without a request. 10 s.
	FirstRequestTimeout time.Duration
	// AckTimeout is how long an unanswered response holds back later ones: those
	// of its type, and those that the order of types puts after it. 5 s.
	AckTimeout time.Duration

	// StreamsPerIdentity bounds the streams of one client identity. 8.
	StreamsPerIdentity int
	// TypesPerStream bounds the resource types that one stream asks for. 32.
	TypesPerStream int
	// NamesPerType bounds the names that one stream asks for, or reports
	// versions of, for each type. 100 000.
	NamesPerType int
	// NameSize bounds a resource name in requests, in bytes. 4096.
	NameSize int
	// RequestSize bounds a request, in bytes. 16 MiB.
	RequestSize int
	// NodeSize bounds the node in the first request, in bytes. 256 KiB.
	NodeSize int
	// ResponseSize is where a response is cut and continued in the next one, in
	// bytes. One resource is never split. 16 MiB.
	ResponseSize int

	// Registerer is where the metrics go; nowhere.
	Registerer prometheus.Registerer
	// Logger is slog.Default().
	Logger *slog.Logger
}

func (o *Options) setDefaults() {
	setDefault(&o.SendTimeout, 30*time.Second)
	setDefault(&o.FirstRequestTimeout, 10*time.Second)
	setDefault(&o.AckTimeout, 5*time.Second)
	setDefault(&o.StreamsPerIdentity, 8)
	setDefault(&o.TypesPerStream, 32)
	setDefault(&o.NamesPerType, 100_000)
	setDefault(&o.NameSize, 4096)
	setDefault(&o.RequestSize, 16<<20)
	setDefault(&o.NodeSize, 256<<10)
	setDefault(&o.ResponseSize, 16<<20)
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
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
