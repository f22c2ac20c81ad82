package proxy

import (
	"bytes"
	"crypto/subtle"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
)

// maxInternal limits the body of a request to the API, in bytes.
const maxInternal = 64 << 20

// serveInternal answers a request to the API or to the metrics.
func (p *Proxy) serveInternal(x *httpforward.Exchange, c *cluster.Cluster) {
	head := x.Request()
	u, err := url.ParseRequestURI(string(head.Target))
	if err != nil {
		x.Fail(http.StatusBadRequest, err.Error())
		return
	}
	r := &http.Request{
		Method: string(head.Method), URL: u, Host: string(head.Host), Header: http.Header{},
		RemoteAddr: x.RemoteAddr().String(),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: head.Minor,
	}
	for _, f := range head.Fields {
		r.Header.Add(string(f.Name), string(f.Value))
	}
	// The head is in the buffer that the body is read into: it is used before.
	body, err := io.ReadAll(io.LimitReader(x, maxInternal+1))
	if err != nil || len(body) > maxInternal {
		x.Fail(http.StatusRequestEntityTooLarge, "the body is longer than 64 MiB, or not complete")
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := &recorder{head: http.Header{}, status: http.StatusOK}
	switch {
	case c.Spec.Protocol == config.Prometheus:
		p.serveMetrics(w, r)
	case !mayChange(x, r, c.Spec.TokenFile):
		w.status = http.StatusForbidden
		w.head.Set("Content-Type", "application/json")
		_, _ = w.Write(httpforward.ErrorBody(w.status, "the API serves only clients on this machine, or with its bearer token"))
	default:
		p.api.ServeHTTP(w, r)
	}
	var fields strings.Builder
	_ = w.head.Write(&fields) // a strings.Builder takes everything
	_ = x.Respond(w.status, fields.String(), w.body.Bytes())
}

// mayChange reports whether a client may use the API: one of this machine whose request no browser has sent for another
// page, or one with the token.
func mayChange(x *httpforward.Exchange, r *http.Request, tokenFile string) bool {
	if tokenFile != "" {
		token, err := os.ReadFile(tokenFile)
		token = bytes.TrimSpace(token)
		given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return err == nil && is && len(token) > 0 && subtle.ConstantTimeCompare(token, []byte(given)) == 1
	}
	if !addrPort(x.RemoteAddr()).Addr().IsLoopback() || r.Header.Get("Origin") != "" {
		return false
	}
	host := r.Host
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:at]
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost" || host == "" // a name of another page is DNS rebinding
}

// recorder is a response in memory.
type recorder struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.head }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// current returns the configuration of the listener.
func (l *listener) current() config.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spec
}

// onlyController reports whether all rules of a listener lead to the API.
func (l *listener) onlyController() bool {
	for _, r := range l.spec.Rules.Inline {
		if r.Inline == nil || r.Inline.Action.Route == nil || r.Inline.Action.Route.Inline == nil {
			return false
		}
		c := r.Inline.Action.Route.Inline.Destination.Inline
		if c == nil || c.Spec.Protocol != config.Controller || c.Spec.TokenFile != "" {
			return false
		}
	}
	return len(l.spec.Rules.Inline) > 0
}
