package proxy_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"anymesh.dev/anymesh/test/freeport"
)

const clusterConfig = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules: [{action: {route: {destination: up}}}]
- name: api
  spec: {protocol: HTTP, port: $API, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]
clusters:
- name: up
  spec: {protocol: HTTP, port: 1}
  %s
  endpoints:
  - {name: one, spec: {address: 127.0.0.1, port: %s}}
  - {name: two, spec: {address: 127.0.0.1, port: %s}}
`

// statuses returns how many of the next requests have each status.
func statuses(t *testing.T, url string) map[int]int {
	t.Helper()
	count := map[int]int{}
	for range 10 {
		response, _ := do(t, request(t, "GET", url, nil))
		count[response.StatusCode]++
	}
	return count
}

// An endpoint whose health checks fail gets no requests until they pass again; if most of them fail, all are used.
func TestHealthChecks(t *testing.T) {
	var sick [2]atomic.Bool
	up := func(i int) string {
		return httpServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" && sick[i].Load() {
				w.WriteHeader(503)
			}
			if i == 1 && r.URL.Path != "/health" {
				w.WriteHeader(201)
			}
		})
	}
	at := start(t, fmt.Sprintf(clusterConfig, "health_check: {path: /health, interval: 10}", up(0), up(1)), "IN", "API")
	url := "http://" + at["IN"]
	states := func() string {
		_, body := do(t, request(t, "GET", "http://"+at["API"]+"/api/v1/clusters/up/endpoints?format=terse", nil))
		return body
	}
	for _, c := range []struct {
		sick [2]bool
		want [2]bool // is used
	}{
		{[2]bool{false, false}, [2]bool{true, true}}, {[2]bool{true, false}, [2]bool{false, true}},
		{[2]bool{false, true}, [2]bool{true, false}}, {[2]bool{true, true}, [2]bool{true, true}},
		{[2]bool{false, false}, [2]bool{true, true}},
	} {
		sick[0].Store(c.sick[0])
		sick[1].Store(c.sick[1])
		want := 0
		for _, s := range c.sick {
			if s {
				want++
			}
		}
		until(t, "the state of the endpoints", func() bool {
			if strings.Count(states(), `"unhealthy"`) != want {
				return false
			}
			got := statuses(t, url)
			return got[200] > 0 == c.want[0] && got[201] > 0 == c.want[1]
		})
	}
}

// Health checks connect, or ask the health service of gRPC.
func TestHealthCheckProtocols(t *testing.T) {
	s := grpc.NewServer()
	serving := health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, serving)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	dead := fmt.Sprint(freeport.Port(t))
	for check, states := range map[string][2]string{
		"{protocol: gRPC, interval: 10}":             {"healthy", "unhealthy"},
		"{protocol: gRPC, service: x, interval: 10}": {"unhealthy", "unhealthy"},
		"{interval: 10}":                             {"healthy", "unhealthy"},
	} {
		at := start(t, fmt.Sprintf(clusterConfig, "health_check: "+check, portOf(l.Addr()), dead), "IN", "API")
		api := client{t, "http://" + at["API"] + "/api/v1/"}
		for i, name := range []string{"one", "two"} {
			until(t, check+": "+name+" is "+states[i], func() bool {
				return strings.Contains(api.get("endpoints/"+name), `"`+states[i]+`"`)
			})
		}
	}
	serving.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	at := start(t, fmt.Sprintf(clusterConfig, "health_check: {protocol: gRPC, interval: 10}", portOf(l.Addr()), dead), "IN", "API")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	until(t, "a server that is not serving", func() bool { return strings.Contains(api.get("endpoints/one"), `"unhealthy"`) })
}

// A check asks with its host, and passes with its statuses. The metrics count what becomes of it, and /health has the
// healthy endpoints of the clusters that are asked for.
func TestHealthOfClusters(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "shop.example:80" {
			w.WriteHeader(404)
			return
		}
		w.WriteHeader(204)
	})
	const check = "- {name: %s, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}], health_check: {path: /, interval: 10, %s}}\n"
	at := start(t, `
listeners:
- {name: stats, spec: {protocol: HTTP, port: $STATS, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Prometheus}}}}}]}
clusters:
`+fmt.Sprintf(check, "a/good", up, "host: 'shop.example:80'")+fmt.Sprintf(check, "a/other", up, "host: other")+
		fmt.Sprintf(check, "a/status", up, "host: 'shop.example:80', statuses: [200]")+fmt.Sprintf(check, "b", up, "host: other"),
		"STATS")
	until(t, "the health of the clusters", func() bool {
		_, metrics := do(t, request(t, "GET", "http://"+at["STATS"]+"/metrics", nil))
		_, health := do(t, request(t, "GET", "http://"+at["STATS"]+"/health?clusters=a/", nil))
		return strings.HasSuffix(health, `
cluster_healthy_endpoints{clusterName="a/good"} 1
cluster_healthy_endpoints{clusterName="a/other"} 0
cluster_healthy_endpoints{clusterName="a/status"} 0
`) && strings.Contains(metrics, `cluster_health_checks_total{clusterName="a/good",result="failed"} 0`) &&
			strings.Contains(metrics, `cluster_health_checks_total{clusterName="b",result="passed"} 0`) &&
			!strings.Contains(metrics, `cluster_health_checks_total{clusterName="a/good",result="passed"} 0`) &&
			!strings.Contains(metrics, `cluster_health_checks_total{clusterName="b",result="failed"} 0`)
	})
}

// An endpoint that fails again and again is ejected for a while.
func TestOutlier(t *testing.T) {
	var failing atomic.Bool
	failing.Store(true)
	bad := httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			w.WriteHeader(500)
		} else {
			w.WriteHeader(202)
		}
	})
	good := httpServer(t, func(http.ResponseWriter, *http.Request) {})
	at := start(t, fmt.Sprintf(clusterConfig, "outlier: {failures: 3, time: 100}", bad, good), "IN", "API")
	until(t, "the ejection", func() bool { return statuses(t, "http://"+at["IN"])[500] == 0 })
	failing.Store(false)
	until(t, "the return", func() bool { return statuses(t, "http://"+at["IN"])[202] > 0 })
}

// What exceeds the limits of a cluster fails at once.
func TestLimits(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	up := httpServer(t, func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-release
	})
	at := start(t, fmt.Sprintf(clusterConfig, "limits: {requests: 2}", up, up), "IN", "API")
	url := "http://" + at["IN"]
	done := make(chan int, 2)
	for range 2 {
		go func() {
			response, err := http.Get(url)
			if err != nil {
				done <- 0
				return
			}
			_ = response.Body.Close()
			done <- response.StatusCode
		}()
		<-begun
	}
	if response, body := do(t, request(t, "GET", url, nil)); response.StatusCode != 503 || !strings.Contains(body, "too many requests") {
		t.Errorf("got status %d %s", response.StatusCode, body)
	}
	close(release)
	for range 2 {
		if status := <-done; status != 200 {
			t.Errorf("a request within the limits: got status %d", status)
		}
	}
	if response, _ := do(t, request(t, "GET", url, nil)); response.StatusCode != 200 {
		t.Errorf("afterwards: got status %d", response.StatusCode)
	}
}
