package controlplane

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// lookout is how often an API server that is away is looked for.
const lookout = time.Second

// awaitReturn has requests wait while the API server is away, and go on as soon as it is back. It is for those that list and watch:
// client-go has each of them pause, for up to a minute in the end, for the sake of API servers with thousands of clients, and what
// is changed after the return would be as late. Here one looks for all. It tells what it finds, and nil when it is over.
func awaitReturn(config *rest.Config, tell func(trouble error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &awaiting{next: next, tell: tell} })
	return config
}

type awaiting struct {
	next http.RoundTripper
	tell func(trouble error)

	mu      sync.Mutex
	looking chan struct{} // closed when the one who looks has ended; nil while nobody does
}

// WrappedRoundTripper lets Kubernetes' libraries find the transport below.
func (a *awaiting) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper. An error is that the request is not wanted any more.
func (a *awaiting) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := a.next.RoundTrip(r)
		if err == nil || r.Context().Err() != nil {
			return response, err
		}
		others, first := a.join()
		if first {
			a.look(r, err)
			a.leave()
			continue
		}
		select {
		case <-others:
		case <-r.Context().Done():
			return nil, err
		}
	}
}

// join makes the first who asks the one who looks. The others wait until the channel is closed.
func (a *awaiting) join() (others <-chan struct{}, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looking != nil {
		return a.looking, false
	}
	a.looking = make(chan struct{})
	return nil, true
}

func (a *awaiting) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.looking)
	a.looking = nil
}

// look asks for something small until there is an answer, whatever it says, or the request is not wanted any more.
func (a *awaiting) look(r *http.Request, trouble error) {
	question := r.Clone(r.Context())
	question.URL.Path, question.URL.RawPath, question.URL.RawQuery = "/version", "", ""
	for trouble != nil {
		a.tell(trouble)
		select {
		case <-time.After(lookout):
		case <-r.Context().Done():
			return
		}
		var answer *http.Response
		if answer, trouble = a.next.RoundTrip(question); trouble == nil {
			_ = answer.Body.Close() // that it came is enough
		}
	}
	a.tell(nil)
}

// lost notes whether the API server is away, and says so once.
func (cp *controlPlane) lost(trouble error) {
	switch since, changed := cp.progress.away(trouble); {
	case !changed:
	case trouble != nil:
		cp.Log.Warn("the API server is away; it is looked for all the time, and sidecars keep what they have", "error", trouble)
	default:
		cp.Log.Info("the API server is back", "after", time.Since(since).Round(time.Millisecond))
	}
}
