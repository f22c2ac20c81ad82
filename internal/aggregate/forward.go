package aggregate

import (
	"context"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"anymesh.dev/anymesh/internal/fleet"
)

// forward passes a request on to an API server as a user, with its answer, its stream or its upgrade to another
// protocol.
func forward(w http.ResponseWriter, r *http.Request, to *fleet.Endpoint, as user.Info, server string) {
	location := *to.URL
	location.Path = to.URL.JoinPath(r.URL.Path).Path
	location.RawPath = to.URL.JoinPath(r.URL.EscapedPath()).RawPath
	location.RawQuery = withoutCluster(r.URL)
	upgrade := httpstream.IsUpgradeRequest(r) || wsstream.IsWebSocketRequest(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.Clone(ctx)
	impersonate(r.Header, as)
	r.Header.Del("X-Forwarded-For")
	handler := proxy.NewUpgradeAwareHandler(&location, to.Transport, false, upgrade, responder{server})
	handler.UseLocationHost = true
	handler.UpgradeTransport = to.Upgrade
	handler.ServeHTTP(w, r)
}

// passedWatches are the open watches that the control plane answers.
type passedWatches struct {
	mutex sync.Mutex
	open  map[*passedWatch]bool
}

type passedWatch struct {
	resource schema.GroupVersionResource
	end      context.CancelFunc
}

// add returns the context of a watch, and a function that releases it.
func (p *passedWatches) add(ctx context.Context, resource schema.GroupVersionResource) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := &passedWatch{resource, cancel}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.open == nil {
		p.open = map[*passedWatch]bool{}
	}
	p.open[w] = true
	return ctx, func() {
		cancel()
		p.mutex.Lock()
		defer p.mutex.Unlock()
		delete(p.open, w)
	}
}

// endOf ends the watches of kinds that the cache has now. Their clients list again, because the cache answers 410 to
// versions of the control plane.
func (p *passedWatches) endOf(kinds map[schema.GroupVersionResource]*registered) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for w := range p.open {
		if _, ok := kinds[w.resource]; ok {
			w.end()
		}
	}
}

// responder answers when a server cannot be reached.
type responder struct{ server string }

func (s responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	writeError(w, apierrors.NewServiceUnavailable(s.server+" does not answer: "+err.Error()))
}
