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

// trip is a transport.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

var errRefused = errors.New("connection refused")

// awaitingFor is a transport below which the API server is.
func awaitingFor(api trip, tell func(error)) http.RoundTripper {
	return withAPIServerRetry(&rest.Config{}, tell).WrapTransport(api)
}

func ask(ctx context.Context, through http.RoundTripper, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api"+path, nil)
	if err != nil {
		return err
	}
	response, err := through.RoundTrip(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Twenty kinds are watched while the API server is away for ten minutes: one looks for it, all go on when it is back,
// and it is told once a look.
func TestRequestsResumeWhenAPIServerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kinds, outage = 20, 10 * time.Minute
		began := time.Now()
		var asked atomic.Int32
		var mu sync.Mutex
		var told []error
		through := awaitingFor(func(*http.Request) (*http.Response, error) {
			asked.Add(1)
			if time.Since(began) < outage {
				return nil, errRefused
			}
			return &http.Response{Body: http.NoBody}, nil
		}, func(trouble error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, trouble)
		})
		var all sync.WaitGroup
		for range kinds {
			all.Go(func() {
				if err := ask(t.Context(), through, "/pods"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if late := time.Since(began) - outage; late > probeInterval {
			t.Errorf("they went on %v after the return", late)
		}
		looks := int(outage / probeInterval)
		if n := int(asked.Load()); n > looks+2*kinds {
			t.Errorf("the API server was asked %d times", n)
		}
		if len(told) != looks+1 || !errors.Is(told[0], errRefused) || told[looks] != nil {
			t.Errorf("told %d times, first %v and last %v", len(told), told[0], told[len(told)-1])
		}
	})
}

// If the probing request is canceled, another request takes over. Canceled requests return immediately.
func TestCanceledProbeIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		through := awaitingFor(func(*http.Request) (*http.Response, error) {
			if !back.Load() {
				return nil, errRefused
			}
			return &http.Response{Body: http.NoBody}, nil
		}, func(error) {})
		answers := make([]chan error, 3)
		stops := make([]context.CancelFunc, 3)
		for i := range answers {
			ctx, stop := context.WithCancel(t.Context())
			answers[i], stops[i] = make(chan error, 1), stop
			go func() { answers[i] <- ask(ctx, through, "/pods") }()
			synctest.Wait() // the first one looks
		}
		for _, i := range []int{1, 0} { // one who waits, and the one who looks
			stops[i]()
			synctest.Wait()
			select {
			case err := <-answers[i]:
				if !errors.Is(err, errRefused) {
					t.Errorf("request %d: %v", i, err)
				}
			default:
				t.Errorf("request %d still waits", i)
			}
		}
		back.Store(true)
		if err := <-answers[2]; err != nil {
			t.Error(err)
		}
		stops[2]()
	})
}

// A slow response to the probing request does not delay the other requests.
func TestSlowResponseDoesNotDelayOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		through := awaitingFor(func(r *http.Request) (*http.Response, error) {
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
			if err := ask(t.Context(), through, "/large"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // it looks
		if err := ask(t.Context(), through, "/small"); err != nil {
			t.Error(err)
		}
		if late := time.Since(began) - time.Minute; late > probeInterval {
			t.Errorf("the small one went on %v after the return", late)
		}
	})
}

// A response with an error status shows that the API server is reachable.
func TestErrorStatusIsNotRetried(t *testing.T) {
	through := awaitingFor(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
	}, func(trouble error) { t.Errorf("told of %v", trouble) })
	if err := ask(t.Context(), through, "/pods"); err != nil {
		t.Error(err)
	}
}
