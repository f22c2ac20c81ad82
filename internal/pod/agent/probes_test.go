package agent

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"anymesh.dev/anymesh/test/freeport"
)

func portOf(t testing.TB, address string) Port {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return Port(n)
}

func newAgent(probes map[string]Probe) *agent {
	a := &agent{Config: Config{Probes: probes, ProbeHosts: []string{"127.0.0.1", "::1"}, Logger: slog.Default()},
		metrics: newMetrics(), client: localClient()}
	return a
}

// appHandler is an application with a response for each kind of probe.
func appHandler(t testing.TB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("fine")) })
	mux.HandleFunc("/unhealthy", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no database", 500) })
	mux.HandleFunc("/same-host", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/unhealthy", 302) })
	mux.HandleFunc("/other-host", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/", 302)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", 302) })
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		got := []any{r.Host, r.UserAgent(), r.Header["X-A"], r.URL.RawQuery, r.Header["Accept"]}
		want := []any{"shop.test", "kube-probe/1.36", []string{"1", "2"}, "a=b", []string{"*/*"}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the application gets %v, want %v", got, want)
		}
	})
	return mux
}

func TestProbes(t *testing.T) {
	plain := httptest.NewServer(appHandler(t))
	defer plain.Close()
	secure := httptest.NewTLSServer(appHandler(t))
	defer secure.Close()
	http4, https := portOf(t, plain.Listener.Addr().String()), portOf(t, secure.Listener.Addr().String())

	l6, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l6.Close()

	health := health.NewServer()
	health.SetServingStatus("unhealthy", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, health)
	lg, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go g.Serve(lg)
	defer g.Stop()
	grpcPort := portOf(t, lg.Addr().String())
	closed := portOf(t, freeport.Address(t))

	for name, c := range map[string]struct {
		probe  Probe
		status int
		text   string
	}{
		"ok":                      {Probe{HTTPGet: &HTTPGet{Path: "/ok", Port: http4}}, 200, "200 OK"},
		"without slash":           {Probe{HTTPGet: &HTTPGet{Path: "ok", Port: http4}}, 200, "200 OK"},
		"unhealthy":               {Probe{HTTPGet: &HTTPGet{Path: "/unhealthy", Port: http4}}, 500, "500 Internal Server Error"},
		"missing":                 {Probe{HTTPGet: &HTTPGet{Path: "/missing", Port: http4}}, 404, "404 Not Found"},
		"no path":                 {Probe{HTTPGet: &HTTPGet{Port: http4}}, 404, "404 Not Found"},
		"https":                   {Probe{HTTPGet: &HTTPGet{Path: "/ok", Port: https, Scheme: "HTTPS"}}, 200, "200 OK"},
		"redirect to same host":   {Probe{HTTPGet: &HTTPGet{Path: "/same-host", Port: http4}}, 500, "500 Internal Server Error"},
		"redirect to other host":  {Probe{HTTPGet: &HTTPGet{Path: "/other-host", Port: http4}}, 200, ""},
		"redirect loop":           {Probe{HTTPGet: &HTTPGet{Path: "/loop", Port: http4}}, 503, "redirects"},
		"timeout":                 {Probe{HTTPGet: &HTTPGet{Path: "/hang", Port: http4}, TimeoutSeconds: 1}, 503, "deadline"},
		"connection refused":      {Probe{HTTPGet: &HTTPGet{Path: "/ok", Port: closed}}, 503, "refused"},
		"tcp":                     {Probe{TCPSocket: &TCPSocket{Port: http4}}, 200, "ok"},
		"tcp, IPv6 only":          {Probe{TCPSocket: &TCPSocket{Port: portOf(t, l6.Addr().String())}}, 200, "ok"},
		"tcp, host":               {Probe{TCPSocket: &TCPSocket{Port: http4, Host: "::1"}}, 503, "refused"},
		"tcp, connection refused": {Probe{TCPSocket: &TCPSocket{Port: closed}}, 503, "refused"},
		"grpc":                    {Probe{GRPC: &GRPC{Port: grpcPort}}, 200, "ok"},
		"grpc, unhealthy":         {Probe{GRPC: &GRPC{Port: grpcPort, Service: "unhealthy"}}, 503, "NOT_SERVING"},
		"grpc, unknown":           {Probe{GRPC: &GRPC{Port: grpcPort, Service: "unknown"}}, 503, "unknown service"},
		"grpc, other port":        {Probe{GRPC: &GRPC{Port: http4}, TimeoutSeconds: 1}, 503, ""},
		"headers": {Probe{HTTPGet: &HTTPGet{Path: "/echo?a=b", Port: http4,
			HTTPHeaders: []Header{{"Host", "shop.test"}, {"X-A", "1"}, {"x-a", "2"}}}}, 200, "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newAgent(map[string]Probe{"web/readyz": c.probe}).handler()
			r := httptest.NewRequest("GET", "/app-probe/web/readyz", nil)
			r.Header.Set("User-Agent", "kube-probe/1.36")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.text)
			}
		})
	}
	h := newAgent(map[string]Probe{"web/livez": {HTTPGet: &HTTPGet{Path: "/large", Port: http4}}}).handler()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/app-probe/web/livez", nil))
	if w.Code != 200 || w.Body.String() != "200 OK" {
		t.Errorf("large response: %d %q", w.Code, w.Body)
	}
	hook := newAgent(map[string]Probe{"web/prestop": {HTTPGet: &HTTPGet{Path: "/ok", Port: http4}, Token: "secret"}}).handler()
	for token, want := range map[string]int{"": 404, "guess": 404, "secret": 200} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/app-probe/web/prestop", nil)
		r.Header.Set("X-Anymesh-Hook", token)
		if hook.ServeHTTP(w, r); w.Code != want {
			t.Errorf("hook with token %q: status %d, want %d", token, w.Code, want)
		}
	}
	for _, path := range []string{"/app-probe/web/readyz", "/app-probe/other/livez", "/app-probe/",
		"/app-probe/../web/livez", "/"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://x/", nil)
		r.URL.Path = path
		if h.ServeHTTP(w, r); w.Code == 200 {
			t.Errorf("%s: success for an unknown probe", path)
		}
	}
}

func TestParseProbes(t *testing.T) {
	got, err := ParseProbes(`{"web/livez":{"httpGet":{"path":"/h","port":8080,"scheme":"HTTPS","httpHeaders":[{"name":"a","value":"b"}]},"timeoutSeconds":3,"periodSeconds":10},
		"web/readyz":{"tcpSocket":{"port":"9090"}},"db/startupz":{"grpc":{"port":1,"service":"s"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if p := got["web/livez"]; p.HTTPGet.Port != 8080 || p.HTTPGet.HTTPHeaders[0].Value != "b" || p.TimeoutSeconds != 3 {
		t.Errorf("%+v", p)
	}
	if got["web/readyz"].TCPSocket.Port != 9090 || got["db/startupz"].GRPC.Service != "s" {
		t.Errorf("%+v", got)
	}
	if none, err := ParseProbes(""); err != nil || len(none) != 0 {
		t.Errorf("%v %v", none, err)
	}
	for text, want := range map[string]string{
		`{`:                                     ProbesEnv,
		`{"web":{"tcpSocket":{"port":1}}}`:      "web",
		`{"web/exec":{"tcpSocket":{"port":1}}}`: "web/exec",
		`{"web/livez":{}}`:                      "0 of",
		`{"web/livez":{"exec":{"command":["x"]}}}`:                    "0 of",
		`{"web/livez":{"tcpSocket":{"port":1},"grpc":{"port":1}}}`:    "2 of",
		`{"web/livez":{"tcpSocket":{}}}`:                              "port",
		`{"web/livez":{"tcpSocket":{"port":"http"}}}`:                 "http",
		`{"web/livez":{"tcpSocket":{"port":65536}}}`:                  "65536",
		`{"web/livez":{"tcpSocket":{"port":0}}}`:                      "port",
		`{"web/livez":{"httpGet":{"port":1,"scheme":"ftp"}}}`:         "ftp",
		`{"web/livez":{"tcpSocket":{"port":1},"timeoutSeconds":-1}} `: "negative",
		`{"web/livez":{"tcpSocket":{"port":1}}} {}`:                   "after",
		`{"web/prestop":{"httpGet":{"port":1}}}`:                      "token",
		`{"web/livez":{"httpGet":{"port":1},"token":"x"}}`:            "token",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseProbes(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not contain %q", err, want)
			}
		})
	}
}

// Probes that pass the check can be performed without a panic.
func FuzzProbes(f *testing.F) {
	f.Add(`{"web/livez":{"httpGet":{"path":"/h","port":1,"httpHeaders":[{"name":"a","value":"b"}]}}}`)
	f.Add(`{"web/livez":{"httpGet":{"path":"%zz","port":1,"host":"::1"}}}`)
	f.Add(`{"web/livez":{"httpGet":{"port":1,"host":"#"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		probes, err := ParseProbes(text)
		if err != nil {
			return
		}
		for _, p := range probes {
			if p.HTTPGet == nil {
				continue
			}
			if req, err := p.HTTPGet.request(t.Context(), "kube-probe"); err == nil &&
				req.URL.Port() != strconv.Itoa(int(p.HTTPGet.Port)) {
				t.Fatalf("request to port %q, want %d", req.URL.Port(), p.HTTPGet.Port)
			}
		}
	})
}
