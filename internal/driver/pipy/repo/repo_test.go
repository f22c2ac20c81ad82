package repo

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/xdsclient"
)

const workload = `{"Spec": {"Traffic": {"EnableEgress": false}}, "Inbound": {"TrafficMatches": {"80": {"Port": 80,
	"Protocol": "http", "TLS": {"Trusted": "/run/ca.crt"}}}}, "Outbound": {"TrafficMatches": {}}}`

func get(t *testing.T, url string) (status int, body, etag string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text), r.Header.Get("ETag")
}

// The repo lists its files when there is a configuration, and serves each of them. Nobody can change one.
func TestProtocol(t *testing.T) {
	c := newCodebase()
	server := httptest.NewServer(c.handler())
	defer server.Close()
	if status, _, _ := get(t, server.URL+root); status != http.StatusServiceUnavailable {
		t.Errorf("status %d without a configuration", status)
	}
	if refused := c.take([]xdsclient.Change{{Name: "workload", Body: []byte(workload)}}); len(refused) > 0 {
		t.Fatal(refused)
	}
	_, list, before := get(t, server.URL+root)
	files := strings.Split(list, "\n")
	if files[0] != "/main.js" || len(files) != 6 || before == "" {
		t.Errorf("files %v, ETag %q", files, before)
	}
	for _, name := range files {
		if status, text, _ := get(t, server.URL+folder+name); status != http.StatusOK || text == "" {
			t.Errorf("%s: status %d, %d bytes", name, status, len(text))
		}
	}
	if _, trusts, _ := get(t, server.URL+root+"trust.json"); trusts != `["","/run/ca.crt"]` {
		t.Errorf("trusts %s", trusts)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		request, _ := http.NewRequest(method, server.URL+root+"main.js", strings.NewReader("x"))
		if r, err := http.DefaultClient.Do(request); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %v, %v", method, r, err)
		}
	}
	c.take([]xdsclient.Change{{Name: "cluster/a", Body: []byte(`{"ClustersConfigs": {"a": {"Endpoints": {"192.0.2.1:80": 1}}}}`)}})
	if _, _, after := get(t, server.URL+root); after != before {
		t.Error("pipy loads the scripts again for an endpoint")
	}
	c.take([]xdsclient.Change{{Name: "cluster/a", Body: []byte(`{"ClustersConfigs": {"a": {"TLS": {"Trusted": "/b"}}}}`)}})
	if _, _, after := get(t, server.URL+root); after == before {
		t.Error("pipy does not load the scripts again for an authority")
	}
}

// An answer about config.json comes when it changes. What is no configuration is refused, and changes nothing.
func TestChanges(t *testing.T) {
	c := newCodebase()
	server := httptest.NewServer(c.handler())
	defer server.Close()
	c.take([]xdsclient.Change{{Name: "workload", Body: []byte(workload)}})
	_, version, _, _ := c.state()
	answer := make(chan string, 1)
	go func() {
		defer close(answer)
		if r, err := http.Get(server.URL + root + "config.json?after=" + version); err == nil {
			defer r.Body.Close()
			text, _ := io.ReadAll(r.Body) // a part of it fails the test
			answer <- string(text)
		}
	}()
	if refused := c.take([]xdsclient.Change{{Name: "cluster/a", Body: []byte(`{`)}}); refused["cluster/a"] == nil {
		t.Error("a part that is no configuration is taken")
	}
	if _, again, _, _ := c.state(); again != version {
		t.Error("a refused part changes the configuration")
	}
	c.take([]xdsclient.Change{{Name: "cluster/a", Body: []byte(`{"ClustersConfigs": {"a": {"Endpoints": {"192.0.2.1:80": 1}}}}`)}})
	select {
	case text := <-answer:
		if !strings.Contains(text, "192.0.2.1:80") {
			t.Errorf("got %s", text)
		}
	case <-time.After(10 * time.Second):
		t.Error("no answer after a change")
	}
	c.drain()
	if text, _, _, _ := c.state(); !strings.Contains(string(text), `"Draining":true`) {
		t.Errorf("got %s after drain", text)
	}
	c.draining = false
	c.take([]xdsclient.Change{{Name: "cluster/a"}})
	if text, again, _, _ := c.state(); again != version || strings.Contains(string(text), "192.0.2.1") {
		t.Errorf("got %s after the removal", text)
	}
}
