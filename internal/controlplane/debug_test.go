package controlplane

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"anymesh.dev/anymesh/model"
)

// The debug server accepts only loopback listen addresses and Host headers.
func TestDebugServerAcceptsLoopbackOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:9091": true, "[::1]:9091": true, ":9091": false, "0.0.0.0:9091": false, "10.0.0.1:9091": false, "localhost:9091": false, "nonsense": false,
	} {
		t.Run(address, func(t *testing.T) {
			if err := checkLoopback(address); (err == nil) != ok {
				t.Errorf("got error %v", err)
			}
		})
	}
	h := loopbackHostOnly(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"127.0.0.1:1": 200, "localhost:1": 200, "localhost": 200, "[::1]:1": 200, "evil.example": 403, "evil.example:9091": 403, "10.0.0.1": 403, "": 403,
	} {
		t.Run(host, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/debug/model", nil)
			r.Host = host
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("host %q: got status %d, want %d", host, w.Code, want)
			}
		})
	}
}

func TestDebugViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newTestControlPlane()
		cp.addPod("front", "uid-1")
		cp.start(t)
		get := func(query string) (int, string) {
			w := httptest.NewRecorder()
			cp.dumpView(w, httptest.NewRequest(http.MethodGet, "/debug/views?"+query, nil))
			return w.Code, w.Body.String()
		}
		code, text := get("mesh=m&workload=front_a")
		var shown struct{ View model.View }
		if err := json.Unmarshal([]byte(text), &shown); err != nil || code != http.StatusOK ||
			shown.View.Workload.Name != "front_a" {
			t.Errorf("got status %d, error %v: %s", code, err, text)
		}
		if code, _ := get("mesh=m&workload=missing"); code != http.StatusNotFound {
			t.Errorf("workload that does not exist: got status %d", code)
		}
	})
}
