package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

// PUT and POST /config change objects under traffic: each request is answered by the old or the new cluster.
func TestAPIUpdates(t *testing.T) {
	one := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "one") })
	two := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "two") })
	c := startAPI(t)
	in := fmt.Sprint(freeport.Port(t))
	whole := func(port string) string {
		return fmt.Sprintf(`
clusters: [{name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}]
listeners:
- {name: in, spec: {protocol: HTTP, port: %s, address: 127.0.0.1}, rules: [{action: {route: {destination: up}}}]}
`, port, in) + strings.TrimPrefix(strings.ReplaceAll(apiConfig, "$API", strings.TrimSuffix(strings.TrimPrefix(c.url, "http://127.0.0.1:"), "/api/v1/")), "\nlisteners:\n")
	}
	c.must("POST", "config", whole(one))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := ask("http://127.0.0.1:" + in); err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 20 {
		c.must("POST", "config", whole([]string{one, two}[i%2]))
		c.must("PUT", "clusters/up", fmt.Sprintf("cluster: {spec: {protocol: HTTP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}", two))
		c.must("PUT", "listeners/in", fmt.Sprintf("listener: {spec: {protocol: HTTP, port: %s, address: 127.0.0.1}, rules: [{action: {route: {destination: up}}}]}", in))
		if _, body := do(t, request(t, "GET", "http://127.0.0.1:"+in, nil)); body != "two" {
			t.Errorf("got %q after an update", body)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The sessions of a listener that is removed go on, or end if its options say so.
func TestSessionsOfRemovedListener(t *testing.T) {
	for _, ends := range []bool{false, true} {
		c := startAPI(t)
		port := fmt.Sprint(freeport.Port(t))
		c.must("POST", "listeners", fmt.Sprintf(`listener: {name: in, spec: {protocol: TCP, port: %s, address: 127.0.0.1}, `+
			`options: {removeOrphanSessions: %v}, rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]}`, port, ends))
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		echo := func() error {
			_ = conn.SetDeadline(time.Now().Add(patience))
			if _, err := io.WriteString(conn, "a"); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, make([]byte, 1))
			return err
		}
		if err := echo(); err != nil {
			t.Fatal(err)
		}
		c.must("DELETE", "listeners/in", "")
		if err := echo(); (err != nil) != ends {
			t.Errorf("removeOrphanSessions is %v: got error %v", ends, err)
		}
	}
}

func ask(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

// Pages of a browser cannot use the API, and with a token nobody without it can.
func TestAPIGuards(t *testing.T) {
	c := startAPI(t)
	for _, field := range []string{"Origin: http://example.com", "Host: example.com"} {
		r := request(t, "GET", c.url+"config", nil, field)
		if name, value, _ := strings.Cut(field, ": "); name == "Host" {
			r.Host = value
		}
		if response, _ := do(t, r); response.StatusCode != 403 {
			t.Errorf("%s: got status %d", field, response.StatusCode)
		}
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(apiConfig, "protocol: L7mpController", "protocol: L7mpController, token_file: "+file, 1)
	url := "http://" + start(t, text, "API")["API"] + "/api/v1/config"
	for field, want := range map[string]int{"X: y": 403, "Authorization: Bearer wrong": 403, "Authorization: Bearer secret": 200} {
		if response, _ := do(t, request(t, "GET", url, nil, field)); response.StatusCode != want {
			t.Errorf("%s: got status %d", field, response.StatusCode)
		}
	}
}

// Metrics have the number of requests.
func TestMetrics(t *testing.T) {
	text := `
listeners:
- {name: m, spec: {protocol: HTTP, port: $M, address: 127.0.0.1}, rules: [{match: {op: starts, path: /HTTP/url/path, value: /metrics}, action: {route: {destination: {spec: {protocol: Prometheus}}}}}]}
`
	url := "http://" + start(t, text, "M")["M"]
	_, _ = do(t, request(t, "GET", url+"/none", nil))
	_, body := do(t, request(t, "GET", url+"/metrics", nil))
	for _, want := range []string{
		`listener_requests_total{listenerName="m",protocol="HTTP"} 2`, `http_responses_total{listenerName="m",protocol="HTTP",class="4"} 1`,
		`http_request_duration_seconds_count{listenerName="m",protocol="HTTP"} 1`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, body)
		}
	}
}
