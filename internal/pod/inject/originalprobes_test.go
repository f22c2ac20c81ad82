package inject

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// probedDriver is a minimalDriver that writes the probes that it gets to an annotation of the pod.
type probedDriver struct{ minimalDriver }

func (d probedDriver) Patch(ctx context.Context) error {
	injector := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	text, err := json.Marshal(injector.OriginalHealthProbes)
	if err != nil {
		return err
	}
	injector.Pod.Annotations["probes"] = string(text)
	return d.minimalDriver.Patch(ctx)
}

func init() { sidecar.Register("probed", probedDriver{}) }

// A driver gets the probes of the application as users wrote them, also those that the agent then serves.
func TestDriverGetsOriginalProbes(t *testing.T) {
	const port = `[{"name": "web", "containerPort": 8080}]`
	for name, c := range map[string]struct{ containers, want string }{
		"none": {`[{"name": "app"}]`, `{"Liveness":null,"Readiness":null,"Startup":null}`},
		"HTTP, HTTPS and TCP": {
			`[{"name": "app", "ports": ` + port + `,
				"livenessProbe": {"httpGet": {"path": "/live", "port": "web"}, "timeoutSeconds": 2},
				"readinessProbe": {"httpGet": {"path": "/ready", "port": 8443, "scheme": "HTTPS"}},
				"startupProbe": {"tcpSocket": {"port": 9000}}}]`,
			`{"Liveness":{"Path":"/live","Port":8080,"HTTP":true,"Timeout":2000000000,"TCPSocket":false},` +
				`"Readiness":{"Path":"/ready","Port":8443,"HTTP":false,"Timeout":0,"TCPSocket":false},` +
				`"Startup":{"Path":"","Port":9000,"HTTP":false,"Timeout":0,"TCPSocket":true}}`,
		},
		"of several containers": {
			`[{"name": "first", "livenessProbe": {"tcpSocket": {"port": 1}}, "startupProbe": {"tcpSocket": {"port": 2}}},
				{"name": "last", "livenessProbe": {"tcpSocket": {"port": 3}}, "startupProbe": {"exec": {"command": ["true"]}}}]`,
			`{"Liveness":{"Path":"","Port":3,"HTTP":false,"Timeout":0,"TCPSocket":true},"Readiness":null,` +
				`"Startup":{"Path":"","Port":2,"HTTP":false,"Timeout":0,"TCPSocket":true}}`,
		},
		"of another host, gRPC, unknown port": {
			`[{"name": "app", "livenessProbe": {"tcpSocket": {"host": "elsewhere", "port": 1}},
				"readinessProbe": {"grpc": {"port": 2}}, "startupProbe": {"tcpSocket": {"port": "missing"}}}]`,
			`{"Liveness":null,"Readiness":null,"Startup":null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "front-1", "namespace": "a",
				"annotations": {"` + sidecar.ClassAnnotation + `": "probed"}}, "spec": {"containers": ` + c.containers + `}}`)
			w := newWebhook(fakeCluster{workload: front()})
			w.Mesh.Sidecar.SidecarDrivers = []sidecar.DriverSettings{{SidecarName: "probed"}}
			var pod corev1.Pod
			if err := json.Unmarshal(admitted(t, raw, w.Handle(t.Context(), request(raw))), &pod); err != nil {
				t.Fatal(err)
			}
			if got := pod.Annotations["probes"]; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
