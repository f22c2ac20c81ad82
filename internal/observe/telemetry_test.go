package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// traced is a workload whose proxy sends spans.
var traced = model.Workload{
	Key: model.Key{Mesh: "shop", Name: "front_a"}, NodeID: "mesh/shop/virtualNode/front_a",
	StatsTags: []model.StatsTag{{Name: "appmesh.mesh", Value: "shop"}},
}

// envoyCommand returns the command line of Envoy for settings, with its files in a folder.
func envoyCommand(t *testing.T, binary string, settings sidecar.ProxySettings) []string {
	t.Helper()
	injector := &sidecar.InjectorContext{
		Context: t.Context(), OsmNamespace: "anymesh-system", Workload: traced, Node: traced.NodeID, Proxy: settings,
		Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarImage: "envoy"}},
	}
	if err := (envoy.Driver{}).Patch(injector); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inDir := strings.NewReplacer(sidecar.FilesDir, dir, sidecar.CertificatesDir, dir)
	for name, content := range injector.Sidecar.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(inDir.Replace(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := []string{binary}
	for _, argument := range injector.Sidecar.Command[1:] {
		out = append(out, strings.ReplaceAll(inDir.Replace(argument), "$(RECEIVER)", "127.0.0.1"))
	}
	return out
}

func binaries(t *testing.T) map[string]string {
	t.Helper()
	current, err := findEnvoy("../..")
	if err != nil {
		t.Skip(err)
	}
	return map[string]string{"current": current, "oldest": filepath.Join(filepath.Dir(current), oldestEnvoy)}
}

// Both versions of Envoy accept the bootstrap for each tracer and each receiver of metrics, with addresses that are
// known at injection and with references to variables.
func TestBootstrapsAreValid(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"version": 2, "default": {"fixed_target": 1, "rate": 0.5}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	rate := 0.25
	statsd := []*sidecar.Statsd{
		nil, {Address: "127.0.0.1", Port: 8125}, {Address: "$(RECEIVER)", Port: 8125}, {Socket: "/tmp/statsd.sock"},
	}
	fields := map[string]map[string]string{"b": {"c": "d"}}
	for version, binary := range binaries(t) {
		for i, tracing := range []*sidecar.Tracing{
			nil,
			{Protocol: sidecar.TracingXRay, Address: "127.0.0.1", Port: 2000, SamplingRate: &rate, Origin: "a", Fields: fields},
			{Protocol: sidecar.TracingXRay, Address: "::1", Port: 2000, SamplingRules: rules},
			{Protocol: sidecar.TracingZipkin, Address: "jaeger.tracing", Port: 9411, SamplingRate: &rate},
			{Protocol: sidecar.TracingZipkin, Address: "$(RECEIVER)", Port: 9411, JSON: true},
			{Protocol: sidecar.TracingDatadog, Address: "$(RECEIVER)", Port: 8126},
			{Protocol: sidecar.TracingOpenTelemetry, Address: "$(RECEIVER)", Port: 4317, SamplingRate: &rate},
		} {
			settings := sidecar.ProxySettings{Tracing: tracing, Statsd: statsd[i%len(statsd)]}
			if i%2 == 1 {
				settings.Service, settings.StatsIPv6, settings.StatsPort, settings.NoStatsTags = "front", true, 9902, true
				settings.StatsFlushInterval = time.Second
			}
			t.Run(fmt.Sprintf("%s/%d", version, i), func(t *testing.T) {
				t.Parallel()
				command := append(envoyCommand(t, binary, settings), "--mode", "validate")
				out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
				if err != nil {
					t.Errorf("%+v: %v: %s", settings, err, out)
				}
			})
		}
	}
}

// A connection manager with empty tracing settings uses the tracer of the bootstrap: a span of each protocol arrives at
// a receiver, with the name of the workload.
func TestTracersSendSpans(t *testing.T) {
	every := 1.0
	for version, binary := range binaries(t) {
		for _, tracing := range []sidecar.Tracing{
			{Protocol: sidecar.TracingXRay, SamplingRate: &every, Origin: "AWS::AppMesh::Proxy", Service: "shop/front_a"},
			{Protocol: sidecar.TracingZipkin, SamplingRate: &every, JSON: true, Service: "shop/front_a"},
			{Protocol: sidecar.TracingZipkin},
			{Protocol: sidecar.TracingDatadog, Service: "shop/front_a"},
			{Protocol: sidecar.TracingOpenTelemetry, Service: "shop/front_a"},
		} {
			t.Run(fmt.Sprintf("%s/%s/%t", version, tracing.Protocol, tracing.JSON), func(t *testing.T) {
				t.Parallel()
				received := make(chan string, 100)
				tracing.Address, tracing.Port = "127.0.0.1", receive(t, tracing.Protocol, received)
				get(t, startTraced(t, binary, tracing))
				deadline := time.After(2 * time.Minute)
				for {
					select {
					case text := <-received:
						if strings.Contains(text, "shop/") && strings.Contains(text, "front_a") {
							return
						}
					case <-deadline:
						t.Fatal("no span of the workload within 20 s")
					}
				}
			})
		}
	}
}

// The sampling rate is the share of requests that is traced.
func TestSamplingRate(t *testing.T) {
	const requests, rate = 400, 0.5
	for version, binary := range binaries(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			received, share := make(chan string, requests), rate
			tracing := sidecar.Tracing{Protocol: sidecar.TracingZipkin, Address: "127.0.0.1", JSON: true, SamplingRate: &share}
			tracing.Port = receive(t, tracing.Protocol, received)
			url := startTraced(t, binary, tracing)
			for range requests {
				get(t, url)
			}
			spans := 0
			for deadline := time.After(2 * time.Minute); spans < requests*rate/2; {
				select {
				case text := <-received:
					spans += strings.Count(text, `"traceId"`)
				case <-deadline:
					t.Fatalf("got %d spans of %d requests", spans, requests)
				}
			}
			for quiet := false; !quiet; { // the proxy sends the last spans within 100 ms
				select {
				case text := <-received:
					spans += strings.Count(text, `"traceId"`)
				case <-time.After(time.Second):
					quiet = true
				}
			}
			if spans > requests*rate*3/2 {
				t.Errorf("got %d spans of %d requests", spans, requests)
			}
		})
	}
}

func get(t *testing.T, url string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
}

// startTraced runs Envoy with a listener that answers itself, and returns its URL.
func startTraced(t *testing.T, binary string, tracing sidecar.Tracing) string {
	t.Helper()
	ports := []uint16{uint16(freeport.Port(t)), uint16(freeport.Port(t))}
	quick := map[string]any{"tracing.zipkin.flush_interval_ms": 100, "tracing.opentelemetry.flush_interval_ms": 100}
	config := map[string]any{"layered_runtime": map[string]any{"layers": []any{
		map[string]any{"name": "test", "static_layer": quick},
	}}, "static_resources": map[string]any{"listeners": []any{map[string]any{
		"name": "traced", "address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": ports[0]}},
		"filter_chains": []any{map[string]any{"filters": []any{map[string]any{
			"name": "envoy.filters.network.http_connection_manager",
			"typed_config": map[string]any{
				"@type":       "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix": "traced", "tracing": map[string]any{},
				"http_filters": []any{map[string]any{"name": "envoy.filters.http.router", "typed_config": map[string]any{
					"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
				}}},
				"route_config": map[string]any{"virtual_hosts": []any{map[string]any{
					"name": "all", "domains": []any{"*"}, "routes": []any{map[string]any{
						"match": map[string]any{"prefix": "/"}, "direct_response": map[string]any{"status": 200},
					}},
				}}},
			},
		}}}},
	}}}}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	command := append(envoyCommand(t, binary, sidecar.ProxySettings{
		FetchTimeout: 100 * time.Millisecond, StatsPort: ports[1], Concurrency: 1, Tracing: &tracing,
	}), "--config-yaml", string(text))
	var log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	url := fmt.Sprintf("http://127.0.0.1:%d/", ports[0])
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
			return url
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
