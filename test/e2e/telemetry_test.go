package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// telemetryManifests define the mesh traces with three services, front, middle and back, and a receiver of spans and
// metrics on the node. The sidecars of front and middle have its address from the status of their pod, and the sidecar
// of back has its tracer from a file.
const telemetryManifests = `
apiVersion: v1
kind: Namespace
metadata:
  name: traces
  labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled, mesh: traces}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: traces}
spec: {namespaceSelector: {matchLabels: {mesh: traces}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: traces, name: collector}
spec: {clusterIP: None, selector: {app: collector}, ports: [{port: 4317}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: traces, name: collector, labels: {app: collector}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
    - name: collector
      image: anymesh.dev/collector
      readinessProbe: {httpGet: {path: /spans, port: 8090}, periodSeconds: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: traces, name: tracing}
data:
  tracing.yaml: |
    tracing:
      http:
        name: envoy.tracers.opentelemetry
        typed_config:
          "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
          service_name: back-from-file
          grpc_service: {envoy_grpc: {cluster_name: own}}
    static_resources:
      clusters:
        - name: own
          type: STRICT_DNS
          typed_extension_protocol_options:
            envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
              "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
              explicit_http_config: {http2_protocol_options: {}}
          load_assignment:
            cluster_name: own
            endpoints:
              - lb_endpoints:
                  - endpoint: {address: {socket_address: {address: collector.traces, port_value: 4317}}}
`

const tracedService = `---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: traces, name: NAME}
spec:
  podSelector: {matchLabels: {app: NAME}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: NAME.traces.svc.cluster.local}}
  backends: [BACKENDS]
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: traces, name: NAME}
spec:
  awsName: NAME.traces.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: NAME}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: traces, name: NAME}
spec: {selector: {app: NAME}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: traces, name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
      annotations:
        ANNOTATIONS
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [drive, --rate=0]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
      volumes: [{name: tracing, configMap: {name: tracing}}]
`

// receivedSpan is a span that the collector has received.
type receivedSpan struct{ Trace, ID, Parent, Name, Kind, Service string }

// collected decodes the answer of the collector.
func collected(t *testing.T, path string, into any) error {
	t.Helper()
	raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("traces").Resource("pods").Name("collector:8090").
		SubResource("proxy").Suffix(path).DoRaw(t.Context())
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// TestTelemetry sends a request over three services: its spans are one trace at a receiver of OTLP, and metrics of the
// sidecars arrive at a receiver of DogStatsD.
func TestTelemetry(t *testing.T) {
	manifests := telemetryManifests
	const onNode = "appmesh.k8s.aws/sidecarEnv: ENABLE_ENVOY_OTEL_TRACING=1, OTEL_TRACER_ADDRESS=ref:status.hostIP, " +
		"ENABLE_ENVOY_DOG_STATSD=1, STATSD_ADDRESS=ref:status.hostIP, ENVOY_STATS_FLUSH_INTERVAL=1s"
	const fromFile = "{appmesh.k8s.aws/volumeMounts: \"tracing:/config\", " +
		"appmesh.k8s.aws/sidecarEnv: ENVOY_TRACING_CFG_FILE=/config/tracing.yaml}"
	for _, s := range []struct{ name, backends, annotations string }{
		{"front", "{virtualService: {virtualServiceRef: {name: middle}}}", onNode},
		{"middle", "{virtualService: {virtualServiceRef: {name: back}}}", onNode},
		{"back", "", fromFile},
	} {
		manifests += strings.NewReplacer("NAME", s.name, "BACKENDS", s.backends, "ANNOTATIONS", s.annotations).
			Replace(tracedService)
	}
	apply(t, manifests)
	run(t, "-n", "traces", "wait", "--for=condition=Ready", "pod/collector", "--timeout=180s")
	run(t, "-n", "traces", "wait", "--for=condition=Available", "deployment", "--all", "--timeout=180s")

	host := func(name string) string { return "http://" + name + ".traces.svc.cluster.local:8080" }
	target := host("middle") + "/call?url=" + url.QueryEscape(host("back")+"/healthz")
	outcome, err := callFromIn(t.Context(), "traces", "front", target)
	answered := outcome.Status == 200 && strings.Contains(outcome.Body, `"status":200`)
	if err := want(outcome, err, answered, "status 200 from back"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "five spans of one trace", func() error {
		var all []receivedSpan
		if err := collected(t, "spans", &all); err != nil {
			return err
		}
		return connected(all)
	})
	eventually(t, 10*time.Second, "metrics of front and middle", func() error {
		var messages []string
		if err := collected(t, "metrics", &messages); err != nil {
			return err
		}
		for _, name := range []string{"front", "middle"} {
			found := false
			for _, m := range messages {
				found = found || strings.HasPrefix(m, "envoy.") && strings.Contains(m, "appmesh.mesh:traces") &&
					strings.Contains(m, "appmesh.virtual_node:"+name+"_traces")
			}
			if !found {
				return fmt.Errorf("none of %s in %d messages: %.500q", name, len(messages), messages)
			}
		}
		return nil
	})
	t.Run("restart after changes", testRestartAfterChanges)
	t.Run("images stay", testImagesStay)
}

// connected returns an error unless the spans are one trace: each hop has a span of the client in its parent's sidecar,
// and a span of the server in its own.
func connected(all []receivedSpan) error {
	const node = "mesh/traces/virtualNode/"
	parent, trace := "", ""
	for _, want := range []receivedSpan{
		{Service: node + "front_traces", Kind: "SERVER", Name: "ingress"},
		{Service: node + "front_traces", Kind: "CLIENT", Name: "egress middle.traces.svc.cluster.local:8080"},
		{Service: node + "middle_traces", Kind: "SERVER", Name: "ingress"},
		{Service: node + "middle_traces", Kind: "CLIENT", Name: "egress back.traces.svc.cluster.local:8080"},
		{Service: "back-from-file", Kind: "SERVER", Name: "ingress"},
	} {
		found := false
		for _, s := range all {
			if s.Service == want.Service && s.Kind == want.Kind && s.Name == want.Name && s.Parent == parent &&
				(trace == "" || s.Trace == trace) {
				found, parent, trace = true, s.ID, s.Trace
				break
			}
		}
		if !found {
			return fmt.Errorf("no span %+v with parent %q in trace %q; got %+v", want, parent, trace, all)
		}
	}
	return nil
}
