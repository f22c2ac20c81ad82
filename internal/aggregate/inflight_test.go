package aggregate

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A stream does not take the slot of a request; each sort has a limit of its own.
func TestRequestsAndStreamsAreLimited(t *testing.T) {
	limits := newInFlight(1, 1, newMetrics())
	code := func(f func(w http.ResponseWriter)) int {
		w := httptest.NewRecorder()
		f(w)
		return w.Code
	}
	request := func(during func()) int {
		return code(func(w http.ResponseWriter) {
			if ticket, ok := limits.acquire(w); ok {
				defer ticket.release()
				during()
			}
		})
	}
	stream := func(during func()) int {
		return code(func(w http.ResponseWriter) {
			if ticket, ok := limits.acquire(w); ok {
				defer ticket.release()
				if limits.moveToStreams(w, ticket) {
					during()
				}
			}
		})
	}
	nothing := func() {}
	if got := request(func() {
		if got := request(nothing); got != http.StatusTooManyRequests {
			t.Errorf("a second request: %d", got)
		}
	}); got != http.StatusOK {
		t.Errorf("a request: %d", got)
	}
	if got := stream(func() {
		if got := request(nothing); got != http.StatusOK {
			t.Errorf("a request beside a stream: %d", got)
		}
		if got := stream(nothing); got != http.StatusTooManyRequests {
			t.Errorf("a second stream: %d", got)
		}
	}); got != http.StatusOK {
		t.Errorf("a stream: %d", got)
	}
	if len(limits.requests) != 0 || len(limits.streams) != 0 {
		t.Errorf("%d requests and %d streams are still counted", len(limits.requests), len(limits.streams))
	}
	wantsRefused(t, limits.metrics, reasonRequests, 1)
	wantsRefused(t, limits.metrics, reasonStreams, 1)
}
