package aggregate

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/serverlimit"
)

// slots limits concurrent requests of a sort.
type slots chan struct{}

func (s slots) acquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) release() { <-s }

// inFlight limits concurrent requests, and separately watches and streams, which last for minutes or hours.
type inFlight struct {
	requests, streams, conversions slots
	metrics                        *metrics
}

func newInFlight(requests, streams int, m *metrics) inFlight {
	return inFlight{make(slots, requests), make(slots, streams), make(slots, MaxConversions), m}
}

// isStream reports whether the answer of a request is a watch or a stream.
func isStream(c call) bool {
	return c.info.Verb == "watch" || slices.Contains(streaming, c.info.Subresource) ||
		httpstream.IsUpgradeRequest(c.Request) || wsstream.IsWebSocketRequest(c.Request)
}

// ticket is a slot that a request holds.
type ticket struct{ held slots }

func (t *ticket) release() { t.held.release() }

// acquire takes the slot of a request, or answers that there are too many.
func (l inFlight) acquire(w http.ResponseWriter) (*ticket, bool) {
	if !l.requests.acquire() {
		l.metrics.refuse(reasonRequests)
		writeError(w, errTooMany("requests"))
		return nil, false
	}
	return &ticket{l.requests}, true
}

// moveToStreams exchanges the slot of a request for that of a stream, or answers that there are too many.
func (l inFlight) moveToStreams(w http.ResponseWriter, t *ticket) bool {
	if !l.streams.acquire() {
		l.metrics.refuse(reasonStreams)
		writeError(w, errTooMany("watches and streams"))
		return false
	}
	t.release()
	t.held = l.streams
	return true
}

// admitStream exchanges the slot of a watch or stream, and returns the writer without the limit of other responses. It
// reports false if there are too many, which it answers.
func (s *Server) admitStream(w http.ResponseWriter, c call, t *ticket) (http.ResponseWriter, bool) {
	if !isStream(c) {
		return w, true
	}
	if !s.inFlight.moveToStreams(w, t) {
		return w, false
	}
	return serverlimit.Unlimited(w), true
}

// convert takes the slot of a conversion to protobuf until release is called, or returns 429.
func (l inFlight) convert() (release func(), err error) {
	if !l.conversions.acquire() {
		l.metrics.refuse(reasonConversions)
		return nil, errTooMany("lists in protobuf; lists in JSON are not limited to so few")
	}
	return sync.OnceFunc(l.conversions.release), nil
}

// newAuthentications limits requests that are authenticated at once: of one address and of all, except loopback.
func newAuthentications(perSource, total int, m *metrics) *connlimit.Limiter {
	return connlimit.New(connlimit.Limits{
		PerSource: perSource, Total: total, Exempt: netip.Addr.IsLoopback,
		OnRefused: func(connlimit.Reason) { m.refuse(reasonAuthentications) },
	})
}

func errTooMany(what string) error {
	const seconds = 1
	return apierrors.NewTooManyRequests("the aggregator has too many concurrent "+what, seconds)
}
