package native

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// oldProxy is a proxy with the REST API, and the changes that it was sent.
type oldProxy struct {
	*proxy.Proxy
	port    uint16
	mu      sync.Mutex
	changes []string
	refuse  string // part of the bodies of requests that are refused
}

// startOldProxy starts a proxy that is configured over REST, as l7mp in a pod.
func startOldProxy(t *testing.T) *oldProxy {
	t.Helper()
	api := freeport.Port(t)
	out := &oldProxy{Proxy: proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))}
	listener := config.Listener{
		Name: "controller-listener", Spec: config.ListenerSpec{Protocol: config.HTTP, Port: api},
		Rules: config.RulesRef{Inline: []config.RuleRef{{Inline: &config.Rule{Action: config.Action{
			Route: toCluster(config.ClusterRef{Inline: &config.Cluster{Spec: config.ClusterSpec{Protocol: config.Controller}}}),
		}}}}},
	}
	if err := out.Replace(&config.Config{Listeners: []config.Listener{listener}}); err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", api)})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			out.mu.Lock()
			out.changes = append(out.changes, r.Method+" "+r.URL.Path)
			refused := out.refuse != "" && strings.Contains(string(body), out.refuse)
			out.mu.Unlock()
			if refused {
				http.Error(w, `{"status":400,"content":"Cannot add listener: no such thing"}`, http.StatusBadRequest)
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	out.port = netip.MustParseAddrPort(front.Listener.Addr().String()).Port()
	return out
}

// took returns the changes since the last call, by method and class.
func (o *oldProxy) took() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]int{}
	for _, c := range o.changes {
		method, path, _ := strings.Cut(c, " ")
		out[method+" "+strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")[0]]++
	}
	o.changes = nil
	return out
}

func (o *oldProxy) names(t *testing.T, class string) []string {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/api/v1/%s", o.port, class))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var all []restNamed
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, one := range all {
		out = append(out, one.Name)
	}
	return out
}

// sends waits until a proxy has got these changes, and fails when there are others.
func sends(t *testing.T, o *oldProxy, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	eventually(t, func() error {
		for key, n := range o.took() {
			got[key] += n
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("the proxy got %v, want %v", got, want)
		}
		return nil
	})
}
