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

// idle is a driver that delivers by itself.
type idle struct{}

func (idle) Patch(context.Context) error { return nil }

func (idle) Start(context.Context) (sidecar.HealthProbes, error) { return sidecar.HealthProbes{}, nil }

func init() {
	sidecar.Register("idle", idle{})
	sidecar.Register("idler", idle{})
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
		"the default alone":                    {"idle", nil, "idle 15128 default", ""},
		"a driver without an entry is not":     {"idle", []sidecar.DriverSettings{entry("idle", 1)}, "idle 1 default", ""},
		"every entry":                          {"idle", []sidecar.DriverSettings{entry("idler", 7), entry("idle", 8)}, "idle 8 default, idler 7", ""},
		"but those that are not built in":      {"idle", []sidecar.DriverSettings{entry("other", 15128), entry("idler", 7)}, "idle 15128 default, idler 7", ""},
		"two on a port":                        {"idle", []sidecar.DriverSettings{entry("idler", 7), entry("idle", 7)}, "", "sidecar drivers idle and idler are both on port 7"},
		"two on the port that they do not say": {"idle", []sidecar.DriverSettings{entry("idler", 0)}, "", "sidecar drivers idle and idler are both on port 15128"},
		"a default that is not built in":       {"other", []sidecar.DriverSettings{entry("other", 7)}, "", "sidecarClass of the mesh configuration: sidecar: unknown driver \"other\""},
	} {
		t.Run(name, func(t *testing.T) {
			mesh := &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: c.class, SidecarDrivers: c.entries}}
			all, err := newDrivers(mesh, slog.New(slog.DiscardHandler), func() {})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v; want %q", err, c.fails)
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
				t.Errorf("served are %s; want %s", strings.Join(got, ", "), c.want)
			}
		})
	}
}

// The control plane is as healthy as its drivers are, and says which one is not.
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
		t.Errorf("all are well: %v", err)
	}
	status["/two"] = http.StatusServiceUnavailable
	if err := cp.live(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "sidecar driver two: /two answers 503") {
		t.Errorf("the second driver is not: %v", err)
	}
}
