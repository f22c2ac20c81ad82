package aggregate

import (
	"context"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"anymesh.dev/anymesh/internal/fleet"
)

// forward passes a request on to an API server as a user, with its answer, its stream or its upgrade to another
// protocol.
func forward(w http.ResponseWriter, r *http.Request, to *fleet.Endpoint, as user.Info, server string,
	log *slog.Logger) {
	location := *to.URL
	location.Path = rooted(to.URL.JoinPath(r.URL.Path).Path)
	location.RawPath = rooted(to.URL.JoinPath(r.URL.EscapedPath()).RawPath)
	location.RawQuery = withoutCluster(r.URL)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.Clone(ctx)
	impersonate(r.Header, as)
	r.Header.Del("X-Forwarded-For")
	if !httpstream.IsUpgradeRequest(r) && !wsstream.IsWebSocketRequest(r) {
		reverseProxy(&location, to.Transport, server, log.With("server", server, "path", r.URL.Path)).ServeHTTP(w, r)
		return
	}
	handler := proxy.NewUpgradeAwareHandler(&location, to.Transport, false, true, responder{server})
	handler.UseLocationHost = true
	handler.UpgradeTransport = to.Upgrade
	handler.ServeHTTP(w, r)
}

// rooted returns a path with its first slash, which JoinPath omits if the first part has none.
func rooted(path string) string {
	if path == "" {
		return ""
	}
	return "/" + strings.TrimPrefix(path, "/")
}

// reverseProxy returns the proxy for a request to a location. It logs what breaks after the head of a response.
func reverseProxy(to *url.URL, over http.RoundTripper, server string, errors *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = to, to.Host
			if address, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil { // audit logs have it
				r.Out.Header.Set("X-Forwarded-For", address)
			}
		},
		Transport: over, ErrorHandler: responder{server}.Error, ErrorLog: log.New(warnings{errors}, "", 0),
	}
}

// warnings logs each line of a logger of the standard library.
type warnings struct{ to *slog.Logger }

// Write implements io.Writer.
func (w warnings) Write(line []byte) (int, error) {
	text := strings.TrimPrefix(strings.TrimSpace(string(line)), "httputil: ")
	w.to.Warn("error of a forwarded request", "error", text)
	return len(line), nil
}

// responder answers when a server cannot be reached.
type responder struct{ server string }

func (s responder) Error(w http.ResponseWriter, r *http.Request, err error) {
	writeError(w, apierrors.NewServiceUnavailable(s.server+" does not answer: "+err.Error()))
}
