package controlplane

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/sidecar"
)

// selfDelivering is a driver that does not call Deliver.
type selfDelivering struct{}

func (selfDelivering) Patch(context.Context) error { return nil }

func (selfDelivering) Start(context.Context) (sidecar.Probes, error) {
	return sidecar.HealthProbes{}, nil
}

func init() {
	sidecar.Register("idle", selfDelivering{})
	sidecar.Register("idler", selfDelivering{})
}

func TestNewDrivers(t *testing.T) {
	entry := func(name string, port uint32) sidecar.DriverSettings {
		return sidecar.DriverSettings{SidecarName: name, ProxyServerPort: port}
	}
	for name, c := range map[string]struct {
		class   string
		entries []sidecar.DriverSettings
		want    string
		fails   string
	}{
		"only the default driver":     {"idle", nil, "idle 15128 default", ""},
		"port of the default driver":  {"idle", []sidecar.DriverSettings{entry("idle", 1)}, "idle 1 default", ""},
		"two entries":                 {"idle", []sidecar.DriverSettings{entry("idler", 7), entry("idle", 8)}, "idle 8 default, idler 7", ""},
		"unknown drivers are skipped": {"idle", []sidecar.DriverSettings{entry("other", 15128), entry("idler", 7)}, "idle 15128 default, idler 7", ""},
		"same port":                   {"idle", []sidecar.DriverSettings{entry("idler", 7), entry("idle", 7)}, "", "sidecar drivers idle and idler have the same port 7"},
		"same default port":           {"idle", []sidecar.DriverSettings{entry("idler", 0)}, "", "sidecar drivers idle and idler have the same port 15128"},
		"unknown default driver":      {"other", []sidecar.DriverSettings{entry("other", 7)}, "", "sidecarClass of the mesh configuration: sidecar: unknown driver \"other\""},
	} {
		t.Run(name, func(t *testing.T) {
			mesh := &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: c.class, SidecarDrivers: c.entries}}
			all, err := newDrivers(mesh, slog.New(slog.DiscardHandler), func() {})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range all {
				text := d.Name + " " + strconv.Itoa(int(d.port()))
				if d.Default {
					text += " default"
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// The control plane is not live if a driver is not. The error names the driver.
func TestHealthReportsEveryDriver(t *testing.T) {
	status := map[string]int{"/one": http.StatusOK, "/two": http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status[r.URL.Path])
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
	cp := &controlPlane{}
	for _, name := range []string{"one", "two"} {
		probe := &sidecar.HealthProbe{Path: "/" + name, Port: int32(port), HTTP: true}
		cp.drivers = append(cp.drivers,
			&driver{Class: delivery.Class{Name: name}, probes: sidecar.HealthProbes{Liveness: probe}})
	}
	cp.assembled.Store(true)
	if err := cp.live(t.Context()); err != nil {
		t.Errorf("all drivers are healthy: got error %v", err)
	}
	status["/two"] = http.StatusServiceUnavailable
	if err := cp.live(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "sidecar driver two: /two returned 503") {
		t.Errorf("the second driver is unhealthy: got error %v", err)
	}
}

// The driver gets the settings of the mesh: sidecars listen on IPv6, or they do not.
func TestListenersFollowIPv6Setting(t *testing.T) {
	for mode, want := range map[sidecar.IPv6Mode]bool{sidecar.IPv6Enabled: true, sidecar.IPv6Disabled: false} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			process := newAPIProcess(t, newPopulatedAPI(t, "front"))
			process.run()
			r := startReplicaWith(t, "a", process.address, func(cp *controlPlane) { cp.Mesh.Sidecar.IPv6 = mode })
			r.expectReady()
			w := httptest.NewRecorder()
			request := httptest.NewRequest(http.MethodGet, "/?mesh=m&workload=front_a", nil)
			r.debug["/debug/envoy"].ServeHTTP(w, request)
			if text := w.Body.String(); w.Code != http.StatusOK || strings.Contains(text, `"::"`) != want ||
				!strings.Contains(text, "lds_egress_0.0.0.0_15001") {
				t.Errorf("status %d, want IPv6 listeners %v: %s", w.Code, want, text)
			}
		})
	}
}
