package aggregate

import (
	"fmt"
	"strconv"
	"time"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
	"anymesh.dev/anymesh/internal/aggregate/version"
	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// Limits of connections before anybody is authenticated, except those from loopback. A further one is reset.
const (
	// MaxConnectionsPerSource limits the connections of one address. It is that of many clients behind one gateway; a
	// client has one or two.
	MaxConnectionsPerSource = 512
	// MaxConnections limits those of all addresses: that of MaxStreams, for clients with one watch each.
	MaxConnections = 10_000
)

// Limits of requests with bearer tokens while they are authenticated, except those from loopback: the control plane has
// to review unknown tokens. A further one gets 429.
const (
	MaxAuthenticationsPerSource = 64
	MaxAuthentications          = 256
)

// Limits of concurrent requests. Those of all clients are counted together. A further request gets 429, which clients
// retry.
const (
	// MaxRequests limits requests other than watches and streams.
	MaxRequests = 400
	// MaxStreams limits watches, and streams such as logs and exec.
	MaxStreams = 10_000
	// MaxConversions limits the lists, and the initial events of watches, that are converted to protobuf: they cost
	// seconds of CPU, and a list is in memory as a whole. None waits, or those that wait would take the slots of other
	// requests.
	MaxConversions = 4
)

// Limits of the header of a request.
const (
	// MaxHeaderBytes is the limit of the API server. A request with a longer header gets status 431, or its connection is
	// closed.
	MaxHeaderBytes = 1 << 20
	// ReadHeaderTimeout limits the time in which it arrives, with HTTP/1. Then the connection is closed.
	ReadHeaderTimeout = 10 * time.Second
	// HandshakeTimeout limits the TLS handshake before: net/http uses the shortest timeout of the server.
	HandshakeTimeout = ReadHeaderTimeout
)

// Limits of bodies, in bytes: those of requests are the API server's, answers have managedFields in addition.
const (
	// MaxRequestSize limits the body of a write. A larger one gets 413.
	MaxRequestSize = 3 << 20
	// MaxAnswerSize limits the answer of a member cluster to a write. A larger one makes the write fail with 503.
	MaxAnswerSize = 16 << 20
)

// Limits of time.
const (
	// ReadTimeout is how long a client may not read before it loses the watch. It resumes from its last version. It also
	// limits how long another response is written, and how long a client with HTTP/2 may read nothing.
	ReadTimeout = time.Minute
	// WriteTimeout limits a write in a member cluster, as the API server limits requests. Then the write gets 503.
	WriteTimeout = time.Minute
	// MaxWriteWait limits the wait of a write for the cache to have its result. Then the write is answered without.
	MaxWriteWait = time.Second
	// MaxIntegerWait is the same if versions are integers: without the event there is no answer, and the write gets 504.
	MaxIntegerWait = 10 * time.Second
)

// Limit is a limit of the aggregator.
type Limit struct {
	// Name is the constant, or the field of cache.Options.
	Name string
	// Default is the value with its unit.
	Default string
	// Metric is the series that counts how often the limit is reached, or empty.
	Metric string
	// Text describes what is limited, and the effect of exceeding the limit.
	Text string
}

// Limits lists the limits for clients and member clusters.
func Limits() []Limit {
	count := strconv.Itoa
	size := func(n int) string {
		if n < 1<<20 {
			return fmt.Sprintf("%d KiB", n>>10)
		}
		return fmt.Sprintf("%d MiB", n>>20)
	}
	refused := func(reason string) string { return refusedName + `{reason="` + reason + `"}` }
	reads := func(reason string) string { return cache.RefusedReadsName + `{reason="` + reason + `"}` }
	waits := writeWaitsName + `{result="timeout"}`
	o := cache.Options{}.WithDefaults()
	return []Limit{
		{"MaxConnectionsPerSource", count(MaxConnectionsPerSource), refused(string(connlimit.Source)), "Connections of one address, except loopback. A further one is reset."},
		{"MaxConnections", count(MaxConnections), refused(string(connlimit.Total)), "Such connections of all addresses."},
		{"MaxAuthenticationsPerSource", count(MaxAuthenticationsPerSource), refused(reasonAuthentications), "Requests of one address, except loopback, whose bearer tokens are verified at once. A further one gets status 429."},
		{"MaxAuthentications", count(MaxAuthentications), refused(reasonAuthentications), "Such requests of all addresses."},
		{"ReviewTimeout", ReviewTimeout.String(), refused(reasonReviewTimeout), "Time that the control plane has for a TokenReview. Then the request gets status 401."},
		{"MaxRequests", count(MaxRequests), refused(reasonRequests), "Concurrent requests, except watches and streams, of all clients. A further one gets status 429."},
		{"MaxStreams", count(MaxStreams), refused(reasonStreams), "Open watches and streams, such as logs, of all clients. A further one gets status 429."},
		{"MaxConversions", count(MaxConversions), refused(reasonConversions), "Lists, and watches that begin with the current objects, that are converted to protobuf at once. A further one gets status 429."},
		{"HandshakeTimeout", HandshakeTimeout.String(), refused(string(serverlimit.Handshake)), "Time of the TLS handshake. Then the connection is closed. Handshakes that fail are counted in `" + connectionErrorsName + "`, with other errors of connections."},
		{"MaxHeaderBytes", size(MaxHeaderBytes), refused(string(serverlimit.Long)), "Length of the header of a request. A longer one gets status 431, or its connection is closed."},
		{"ReadHeaderTimeout", ReadHeaderTimeout.String(), refused(string(serverlimit.Slow)), "Time in which the header of a request arrives, with HTTP/1. Then the connection is closed. It is not counted if nothing arrived."},
		{"MaxConcurrentStreams", count(serverlimit.MaxConcurrentStreams), refused(string(serverlimit.Streams)), "Open streams, such as watches, of one connection with HTTP/2. Clients wait, or open another connection. A further stream is reset."},
		{"MaxReadFrameSize", size(serverlimit.MaxReadFrameSize), refused(string(serverlimit.Frame)), "Length of a frame of HTTP/2. Clients split what is longer. After a longer frame, or a malformed one, the connection is closed."},
		{"MaxRequestSize", size(MaxRequestSize), refused(reasonRequestSize), "Length of the body of a write. A longer one gets status 413."},
		{"MaxOperations", count(rewrite.MaxOperations), refused(reasonPatchOperations), "Operations of a JSON patch. A patch with more gets status 413."},
		{"ReadTimeout", ReadTimeout.String(), refused(reasonSlowClient), "How long the client of a watch may not read, and how long any other response is written, except streams such as logs. Then the connection is closed; with HTTP/2 the stream, or the connection if the client reads nothing at all."},
		{"MaxAnswerSize", size(MaxAnswerSize), refused(reasonAnswerSize), "Length of the answer of a member cluster to a write. After a longer one, the write gets status 503, although the cluster accepted it."},
		{"WriteTimeout", WriteTimeout.String(), refused(reasonWriteTimeout), "Time that a member cluster has for a write. Then the write gets status 503."},
		{"MaxWriteWait", MaxWriteWait.String(), waits, "How long a write waits for the cache to have its result. Then it is answered without."},
		{"MaxIntegerWait", MaxIntegerWait.String(), waits, "The same for resource versions that are integers. Then the write gets status 504."},
		{"RecreateTime", cache.RecreateTime.String(), refused(reasonCreate), "How long an object that was deleted can be created again in its cluster. Then the create gets status 405."},
		{"MaxDeleted", count(cache.MaxDeleted), refused(reasonCreate), "Such objects of one kind. The oldest are forgotten."},
		{"WaitTimeout", o.WaitTimeout.String(), reads(cache.NotReached), "How long a read waits for a resource version that is newer than the cache. Then it gets status 504."},
		{"WindowEvents", count(o.WindowEvents), cache.ExpiredWatchesName, "Events of a kind that are kept for its watches. A watch that is slower ends with status 410. A read that begins at an older version gets 410, too, and is counted in `" + reads(cache.Expired) + "`."},
		{"WindowBytes", size(o.WindowBytes), cache.ExpiredWatchesName, "Size of the objects that these events replaced."},
		{"MaxKeptLists", count(cache.MaxKeptLists), reads(cache.Expired), "Lists of a kind whose state is kept for further pages, for " + cache.KeepTime.String() + ". Further pages of others are answered from the events, or get status 410."},
		{"MaxLength", size(version.MaxLength), reads(cache.Invalid), "Length of a resource version. A longer one gets status 400."},
		{"MaxClusters", count(version.MaxClusters), reads(cache.Invalid), "Clusters in a resource version. One with more gets status 400."},
		{"MaxObjectBytes", size(o.MaxObjectBytes), cache.FailuresName, "Length of an object or event of a member cluster. After a longer one, the kind of the cluster is read again."},
		{"MaxObjects", count(o.MaxObjects), cache.FailuresName, "Objects of a kind in a member cluster. With more, the cache keeps those that it had, and reads the kind again."},
		{"RequestTimeout", o.RequestTimeout.String(), cache.FailuresName, "Time that a member cluster has for a page of a list, or to begin a watch. Then the kind is read again."},
		{"IdleTimeout", o.IdleTimeout.String(), cache.FailuresName, "How long a watch of a member cluster may have no event and no bookmark. Then it is opened again."},
	}
}
