package proxy_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

// collector keeps the spans that it gets.
type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
	names map[string]bool // of services
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var all tracepb.TracesData
	if err := proto.Unmarshal(body, &all); err != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(400)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range all.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			c.names[a.Value.GetStringValue()] = true
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// span waits for the span of a request by its path.
func (c *collector) span(t *testing.T, path string) (found *tracepb.Span, attributes map[string]string) {
	t.Helper()
	until(t, "the span of "+path, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			attributes = map[string]string{}
			for _, a := range s.Attributes {
				attributes[a.Key] = a.Value.GetStringValue()
				if a.Value.GetStringValue() == "" {
					attributes[a.Key] = fmt.Sprint(a.Value.GetIntValue())
				}
			}
			if attributes["url.path"] == path {
				found = s
				return true
			}
		}
		return false
	})
	return found, attributes
}

func startCollector(t *testing.T) (c *collector, port string) {
	c = &collector{names: map[string]bool{}}
	return c, httpServer(t, c.ServeHTTP)
}

const tracedConfig = `
admin: {tracing: {endpoint: "http://127.0.0.1:%s", percent: %d, service: shop}}
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules:
  - {match: {op: test, path: /HTTP/headers/x-up, value: "2"}, action: {route: {destination: two}}}
  - {match: {op: test, path: /HTTP/headers/x-up, value: echo}, action: {route: {destination: {spec: {protocol: Echo}}}}}
  - match: {op: test, path: /HTTP/headers/x-up, value: rewritten}
    action: {rewrite: [{path: /HTTP/headers/x-new, value: a}], route: {destination: one}}
  - {action: {route: {destination: one}}}
- name: ctl
  spec: {protocol: HTTP, port: $API}
  rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]
clusters:
- {name: one, spec: {protocol: HTTP, port: %[3]s}, endpoints: [{name: e, spec: {address: 127.0.0.1}}]}
- {name: two, spec: {protocol: HTTP, port: %[3]s, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

// seenContext returns the trace context that the server got.
func seenContext(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%q %q", r.Header["Traceparent"], r.Header["Tracestate"])
}

// A request is a span of the trace of its client; the endpoint gets the context of this span. The decision of the
// client is kept, and a request without a context, or with an invalid one, begins a trace.
func TestTraces(t *testing.T) {
	all, port := startCollector(t)
	at := start(t, fmt.Sprintf(tracedConfig, port, 100, http2Server(t, seenContext)), "IN", "API")
	var checks []func() // spans come later
	newTrace := regexp.MustCompile(`^\["00-([0-9a-f]{32})-[0-9a-f]{16}-01"\] \[\]$`)
	for version, client := range map[string]*http.Client{"1": {Timeout: patience}, "2": http2Client(t)} {
		for _, up := range []string{"1", "2", "rewritten"} {
			ask := func(path string, fields ...string) string {
				response, err := client.Do(request(t, "GET", "http://"+at["IN"]+path+"?a=b", nil, append(fields, "X-Up: "+up)...))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, _ := io.ReadAll(response.Body)
				return string(body)
			}
			path := "/" + version + up
			known := ask(path+"/known", "Traceparent: 00-"+traceID+"-"+spanID+"-01", "Tracestate: a=1", "Tracestate: b=2")
			checks = append(checks, func() {
				s, attributes := all.span(t, path+"/known")
				want := fmt.Sprintf(`["00-%s-%s-01"] ["a=1,b=2"]`, traceID, hex.EncodeToString(s.SpanId))
				if known != want || hex.EncodeToString(s.ParentSpanId) != spanID || hex.EncodeToString(s.TraceId) != traceID {
					t.Errorf("%s: the endpoint got %s, want %s; the span is %v", path, known, want, s)
				}
				if s.Name != "GET" || s.Kind != tracepb.Span_SPAN_KIND_SERVER || attributes["http.response.status_code"] != "200" ||
					attributes["url.query"] != "a=b" || attributes["anymesh.listener"] != "in" || attributes["client.address"] != "127.0.0.1" ||
					attributes["anymesh.cluster"] == "" || attributes["network.protocol.version"][:1] != version {
					t.Errorf("%s: got %v %v", path, s, attributes)
				}
			})
			got := ask(path+"/unsampled", "Traceparent: 00-"+traceID+"-"+spanID+"-00")
			if !strings.HasPrefix(got, `["00-`+traceID) || !strings.HasSuffix(got, `-00"] []`) {
				t.Errorf("%s: not sampled: the endpoint got %s", path, got)
			}
			for name, field := range map[string]string{"none": "X: y", "invalid": "Traceparent: 00-0-0-01", "version": "Traceparent: ff-" + traceID + "-" + spanID + "-01"} {
				seen := ask(path+"/"+name, field)
				checks = append(checks, func() {
					found := newTrace.FindStringSubmatch(seen)
					if found == nil {
						t.Fatalf("%s: %s: the endpoint got %s", path, name, seen)
					}
					if s, _ := all.span(t, path+"/"+name); hex.EncodeToString(s.TraceId) != found[1] || len(s.ParentSpanId) > 0 {
						t.Errorf("%s: %s: the span is %v", path, name, s)
					}
				})
			}
			if got := ask(path+"/twice", "Traceparent: 00-"+traceID+"-"+spanID+"-01", "Traceparent: 00-"+traceID+"-"+spanID+"-01"); strings.Contains(got, traceID) {
				t.Errorf("%s: two contexts: the endpoint got %s", path, got)
			}
		}
	}
	_, _ = do(t, request(t, "GET", "http://"+at["IN"]+"/session", nil, "X-Up: echo"))
	all.span(t, "/session")
	for _, check := range checks {
		check()
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.names["shop"] || strings.Contains(fmt.Sprint(all.spans), "unsampled") {
		t.Errorf("got spans of %v: %v", all.names, all.spans)
	}
}

// Without a share, only clients decide about traces. Without the settings, fields pass.
func TestTracesOff(t *testing.T) {
	all, port := startCollector(t)
	at := start(t, fmt.Sprintf(tracedConfig, port, 0, http2Server(t, seenContext)), "IN", "API")
	url, sampled := "http://"+at["IN"], "Traceparent: 00-"+traceID+"-"+spanID+"-01"
	if _, got := do(t, request(t, "GET", url+"/new", nil)); !strings.HasSuffix(got, `-00"] []`) {
		t.Errorf("the endpoint got %s", got)
	}
	_, _ = do(t, request(t, "GET", url+"/known", nil, sampled))
	all.span(t, "/known")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	if got := api.get("admin"); !strings.Contains(got, `"tracing":{"endpoint"`) {
		t.Errorf("got %s", got)
	}
	api.must("PUT", "admin", "{}")
	if _, got := do(t, request(t, "GET", url, nil, sampled)); got != `["`+sampled[len("Traceparent: "):]+`"] []` {
		t.Errorf("without tracing, the endpoint got %s", got)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if strings.Contains(fmt.Sprint(all.spans), "/new") {
		t.Errorf("got %v", all.spans)
	}
}

// The span of a call has its method and its status, also one that the proxy gives.
func TestTracesOfGRPC(t *testing.T) {
	all, port := startCollector(t)
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	text := strings.Replace(fmt.Sprintf(tracedConfig, port, 100, portOf(l.Addr())), "- {action: {route: {destination: one}}}", "- {action: {route: {destination: two}}}", 1)
	at := start(t, text, "IN", "API")
	c, err := grpc.NewClient(at["IN"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := new(grpc_health_v1.HealthCheckResponse)
	if err := c.Invoke(ctx, "/grpc.health.v1.Health/Check", &grpc_health_v1.HealthCheckRequest{}, answer); err != nil {
		t.Error(err)
	}
	_ = c.Invoke(ctx, "/other.Service/Method", &grpc_health_v1.HealthCheckRequest{}, answer)
	for path, want := range map[string]string{"/grpc.health.v1.Health/Check": "0 STATUS_CODE_UNSET", "/other.Service/Method": "12 STATUS_CODE_ERROR"} {
		s, attributes := all.span(t, path)
		got := attributes["rpc.grpc.status_code"] + " " + s.GetStatus().GetCode().String()
		if got != want || s.Name != path[1:] || attributes["rpc.system"] != "grpc" {
			t.Errorf("%s: got %s %v %v", path, got, s, attributes)
		}
	}
}
