package controlplane

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (t roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

var errRefused = errors.New("connection refused")

// newRetryTransport returns a transport with retries that sends requests to api.
func newRetryTransport(api roundTripFunc, report func(error)) http.RoundTripper {
	return withAPIServerRetry(&rest.Config{}, report).WrapTransport(api)
}

func get(ctx context.Context, transport http.RoundTripper, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api"+path, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// During an outage of ten minutes only one of 20 requests probes the API server. All continue when it responds again.
// Each failed probe is reported.
func TestRequestsResumeWhenAPIServerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kinds, outage = 20, 10 * time.Minute
		began := time.Now()
		var requests atomic.Int32
		var mu sync.Mutex
		var reported []error
		transport := newRetryTransport(func(*http.Request) (*http.Response, error) {
			requests.Add(1)
			if time.Since(began) < outage {
				return nil, errRefused
			}
			return &http.Response{Body: http.NoBody}, nil
		}, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, err)
		})
		var all sync.WaitGroup
		for range kinds {
			all.Go(func() {
				if err := get(t.Context(), transport, "/pods"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if late := time.Since(began) - outage; late > probeInterval {
			t.Errorf("requests continued %v after the end of the outage", late)
		}
		probes := int(outage / probeInterval)
		if n := int(requests.Load()); n > probes+2*kinds {
			t.Errorf("the API server got %d requests", n)
		}
		if len(reported) != probes+1 || !errors.Is(reported[0], errRefused) || reported[probes] != nil {
			t.Errorf("got %d reports, first %v, last %v", len(reported), reported[0], reported[len(reported)-1])
		}
	})
}

// If the probing request is canceled, another request takes over. Canceled requests return immediately.
func TestCanceledProbeIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var available atomic.Bool
		transport := newRetryTransport(func(*http.Request) (*http.Response, error) {
			if !available.Load() {
				return nil, errRefused
			}
			return &http.Response{Body: http.NoBody}, nil
		}, func(error) {})
		results := make([]chan error, 3)
		stops := make([]context.CancelFunc, 3)
		for i := range results {
			ctx, stop := context.WithCancel(t.Context())
			results[i], stops[i] = make(chan error, 1), stop
			go func() { results[i] <- get(ctx, transport, "/pods") }()
			synctest.Wait() // the first request probes
		}
		for _, i := range []int{1, 0} { // a waiting request, then the probing one
			stops[i]()
			synctest.Wait()
			select {
			case err := <-results[i]:
				if !errors.Is(err, errRefused) {
					t.Errorf("request %d: got error %v", i, err)
				}
			default:
				t.Errorf("request %d has not returned", i)
			}
		}
		available.Store(true)
		if err := <-results[2]; err != nil {
			t.Error(err)
		}
		stops[2]()
	})
}

// A slow response to the probing request does not delay the other requests.
func TestSlowResponseDoesNotDelayOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		transport := newRetryTransport(func(r *http.Request) (*http.Response, error) {
			if time.Since(began) < time.Minute {
				return nil, errRefused
			}
			if r.URL.Path == "/large" {
				time.Sleep(time.Hour)
			}
			return &http.Response{Body: http.NoBody}, nil
		}, func(error) {})
		var all sync.WaitGroup
		defer all.Wait()
		all.Go(func() {
			if err := get(t.Context(), transport, "/large"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the first request probes
		if err := get(t.Context(), transport, "/small"); err != nil {
			t.Error(err)
		}
		if late := time.Since(began) - time.Minute; late > probeInterval {
			t.Errorf("the small request continued %v after the end of the outage", late)
		}
	})
}

// A response with an error status shows that the API server is reachable.
func TestErrorStatusIsNotRetried(t *testing.T) {
	transport := newRetryTransport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	}, func(err error) { t.Errorf("reported %v", err) })
	if err := get(t.Context(), transport, "/pods"); err != nil {
		t.Error(err)
	}
}
