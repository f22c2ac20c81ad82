package controlplane

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// probeInterval is how often an API server that is away is looked for.
const probeInterval = time.Second

// withAPIServerRetry has requests wait while the API server is away, and go on as soon as it is back. It is for those that list and watch:
// client-go has each of them pause, for up to a minute in the end, for the sake of API servers with thousands of clients, and what
// is changed after the return would be as late. Here one looks for all. It tells what it finds, and nil when it is over.
func withAPIServerRetry(config *rest.Config, report func(trouble error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &retryTransport{next: next, report: report} })
	return config
}

type retryTransport struct {
	next   http.RoundTripper
	report func(trouble error)

	mu      sync.Mutex
	probing chan struct{} // closed when the one who looks has ended; nil while nobody does
}

// WrappedRoundTripper lets Kubernetes' libraries find the transport below.
func (a *retryTransport) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper. An error is that the request is not wanted any more.
func (a *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := a.next.RoundTrip(r)
		if err == nil || r.Context().Err() != nil {
			return response, err
		}
		others, first := a.startOrJoinProbe()
		if first {
			a.probe(r, err)
			a.endProbe()
			continue
		}
		select {
		case <-others:
		case <-r.Context().Done():
			return nil, err
		}
	}
}

// startOrJoinProbe makes the first who asks the one who looks. The others wait until the channel is closed.
func (a *retryTransport) startOrJoinProbe() (others <-chan struct{}, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.probing != nil {
		return a.probing, false
	}
	a.probing = make(chan struct{})
	return nil, true
}

func (a *retryTransport) endProbe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.probing)
	a.probing = nil
}

// probe asks for something small until there is an answer, whatever it says, or the request is not wanted any more.
func (a *retryTransport) probe(r *http.Request, trouble error) {
	question := r.Clone(r.Context())
	question.URL.Path, question.URL.RawPath, question.URL.RawQuery = "/version", "", ""
	for trouble != nil {
		a.report(trouble)
		select {
		case <-time.After(probeInterval):
		case <-r.Context().Done():
			return
		}
		var answer *http.Response
		if answer, trouble = a.next.RoundTrip(question); trouble == nil {
			_ = answer.Body.Close() // that it came is enough
		}
	}
	a.report(nil)
}

// reportAPIServer notes whether the API server is away, and says so once.
func (cp *controlPlane) reportAPIServer(err error) {
	switch since, changed := cp.progress.setUnreachable(err); {
	case !changed:
	case err != nil:
		cp.Log.Warn("the API server is away; it is looked for all the time, and sidecars keep what they have", "error", err)
	default:
		cp.Log.Info("the API server is back", "after", time.Since(since).Round(time.Millisecond))
	}
}
