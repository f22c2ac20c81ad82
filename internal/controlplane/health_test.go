package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func TestCatalogReturnsCurrentState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp := newTestControlPlane()
		c := catalog{engine: cp.engine, class: cp.drivers[0].Class}
		front := model.Key{Mesh: "m", Name: "front_a"}
		if _, ok := c.View(front); ok || c.Workloads() != nil {
			t.Error("the catalog is not empty before the first sync")
		}
		dump := httptest.NewRecorder()
		cp.dumpModel(dump, nil)
		if dump.Code != http.StatusServiceUnavailable {
			t.Errorf("model before the first sync: got status %d", dump.Code)
		}
		cp.start(t)
		if v, ok := c.View(front); !ok || v.Workload.Key != front {
			t.Errorf("view of the workload: got %v", ok)
		}
		if got := c.Workloads(); len(got) != 1 || got[0] != front {
			t.Errorf("got workloads %v", got)
		}
		dump = httptest.NewRecorder()
		cp.dumpModel(dump, nil)
		if dump.Code != http.StatusOK || !strings.Contains(dump.Body.String(), `"front_a"`) {
			t.Errorf("model: got status %d\n%s", dump.Code, dump.Body)
		}
	})
}

func TestDriverHealthProbes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closedPort := int32(closed.Addr().(*net.TCPAddr).Port)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		probe   *sidecar.HealthProbe
		healthy bool
	}{
		"no probe":          {nil, true},
		"HTTP status 200":   {&sidecar.HealthProbe{Path: "/200", Port: int32(port), HTTP: true}, true},
		"HTTP status 399":   {&sidecar.HealthProbe{Path: "/399", Port: int32(port), HTTP: true}, true},
		"HTTP status 500":   {&sidecar.HealthProbe{Path: "/500", Port: int32(port), HTTP: true}, false},
		"HTTP timeout":      {&sidecar.HealthProbe{Path: "/never", Port: int32(port), HTTP: true, Timeout: 50 * time.Millisecond}, false},
		"TCP":               {&sidecar.HealthProbe{Port: int32(port), TCPSocket: true}, true},
		"TCP, closed port":  {&sidecar.HealthProbe{Port: closedPort, TCPSocket: true}, false},
		"HTTP, closed port": {&sidecar.HealthProbe{Path: "/200", Port: closedPort, HTTP: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := probe(t.Context(), c.probe); (err == nil) != c.healthy {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestClusterIsIPv6(t *testing.T) {
	for host, want := range map[string]bool{
		"https://10.0.0.1:443": false, "https://[fd00::1]:443": true, "https://kubernetes.default": false, "": false, "::": false,
	} {
		t.Run(host, func(t *testing.T) {
			cp := &controlPlane{Config: Config{KubeConfig: &rest.Config{Host: host}}}
			if got := cp.clusterIsIPv6(); got != want {
				t.Errorf("API server %q: got IPv6 %v", host, got)
			}
		})
	}
}

// Without the authority that sidecars trust, the start waits for a user, and readiness says what to do.
func TestLostAuthorityIsTheReasonOfNotReady(t *testing.T) {
	cp := &controlPlane{}
	lost := fmt.Errorf("Secret a/b is missing, but %w", identity.ErrOtherAuthority)
	ctx, cancel := context.WithCancel(t.Context())
	var during error
	_ = cp.progress.retry(ctx, slog.New(slog.DiscardHandler), "the authority", func(context.Context) error {
		if cp.progress.lastErr != nil { // second attempt
			during = cp.ready(ctx)
			cancel()
		}
		return classifyError(lost)
	})
	if during == nil || during.Error() != lost.Error() {
		t.Errorf("not ready because of %v", during)
	}
}
