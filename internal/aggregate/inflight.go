package aggregate

import (
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// Limits of concurrent requests. Those of all clients are counted together. A further request gets 429, which clients
// retry.
const (
	requestSlots = 400
	streamSlots  = 10_000
	// protobufSlots limits the lists, and the initial events of watches, that are converted to protobuf: they cost seconds
	// of CPU, and a list is in memory as a whole. None waits, or those that wait would take the slots of other requests.
	protobufSlots = 4
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
type inFlight struct{ requests, streams, protobuf slots }

func newInFlight(requests, streams int) inFlight {
	return inFlight{make(slots, requests), make(slots, streams), make(slots, protobufSlots)}
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
		tooMany(w, "requests")
		return nil, false
	}
	return &ticket{l.requests}, true
}

// moveToStreams exchanges the slot of a request for that of a stream, or answers that there are too many.
func (l inFlight) moveToStreams(w http.ResponseWriter, t *ticket) bool {
	if !l.streams.acquire() {
		tooMany(w, "watches and streams")
		return false
	}
	t.release()
	t.held = l.streams
	return true
}

// convert takes the slot of a conversion to protobuf until release is called, or returns 429.
func (l inFlight) convert() (release func(), err error) {
	if !l.protobuf.acquire() {
		return nil, errTooMany("lists in protobuf; lists in JSON are not limited to so few")
	}
	return sync.OnceFunc(l.protobuf.release), nil
}

func tooMany(w http.ResponseWriter, what string) { writeError(w, errTooMany(what)) }

func errTooMany(what string) error {
	const seconds = 1
	return apierrors.NewTooManyRequests("the aggregator has too many concurrent "+what, seconds)
}
