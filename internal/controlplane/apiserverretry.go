package controlplane

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// probeInterval is the interval of probes while the API server is unreachable.
const probeInterval = time.Second

// withAPIServerRetry delays requests while the API server is unreachable, and continues them when it responds again. It
// is for list and watch requests: client-go backs off up to a minute for each of them, and changes would arrive that
// late. One request probes the API server for all others. report receives each error, and nil when the API server
// responds.
func withAPIServerRetry(config *rest.Config, report func(err error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &retryTransport{next: next, report: report} })
	return config
}

type retryTransport struct {
	next   http.RoundTripper
	report func(err error)

	mu      sync.Mutex
	probing chan struct{} // closed when the running probe ends; nil if none runs
}

// WrappedRoundTripper returns the next transport, for client-go.
func (t *retryTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper. It returns an error only if the request's context has ended.
func (t *retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := t.next.RoundTrip(r)
		if err == nil || r.Context().Err() != nil {
			return response, err
		}
		others, first := t.startOrJoinProbe()
		if first {
			t.probe(r, err)
			t.endProbe()
			continue
		}
		select {
		case <-others:
		case <-r.Context().Done():
			return nil, err
		}
	}
}

// startOrJoinProbe reports whether the caller must probe. If not, it returns a channel that is closed when the probe
// ends.
func (t *retryTransport) startOrJoinProbe() (others <-chan struct{}, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.probing != nil {
		return t.probing, false
	}
	t.probing = make(chan struct{})
	return nil, true
}

func (t *retryTransport) endProbe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.probing)
	t.probing = nil
}

// probe sends GET /version until the API server responds, with any status, or until the request is canceled.
func (t *retryTransport) probe(r *http.Request, err error) {
	version := r.Clone(r.Context())
	version.URL.Path, version.URL.RawPath, version.URL.RawQuery = "/version", "", ""
	for err != nil {
		t.report(err)
		select {
		case <-time.After(probeInterval):
		case <-r.Context().Done():
			return
		}
		var response *http.Response
		if response, err = t.next.RoundTrip(version); err == nil {
			_ = response.Body.Close() // any response is enough
		}
	}
	t.report(nil)
}

// reportAPIServer records whether the API server is reachable, and logs each change.
func (cp *controlPlane) reportAPIServer(err error) {
	switch since, changed := cp.progress.setUnreachable(err); {
	case !changed:
	case err != nil:
		cp.Log.Warn("the API server is unreachable; probing it, and sidecars keep their configuration", "error", err)
	default:
		cp.Log.Info("the API server is reachable again", "after", time.Since(since).Round(time.Millisecond))
	}
}
