package aggregate

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// responder answers when a server cannot be reached.
type responder struct{ server string }

func (s responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	writeError(w, apierrors.NewServiceUnavailable(s.server+" does not answer: "+err.Error()))
}
