package appmesh

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Limits of values in variables.
const (
	maxConcurrency = 1024
	maxSeconds     = 3600
)

// sidecarPorts are the other ports of the sidecar.
var sidecarPorts = []int{sidecar.InboundPort, sidecar.OutboundPort, sidecar.AgentPort, sidecar.DNSPort}

// proxySettings reads the environment of the proxy's container, as App Mesh's image did. Errors name the variable.
func proxySettings(env []corev1.EnvVar, w model.Workload) (sidecar.ProxySettings, error) {
	r := variableReader{env: env}
	p := sidecar.ProxySettings{
		Service:            r.text("APPMESH_RESOURCE_CLUSTER"),
		LogLevel:           r.logLevel("ENVOY_LOG_LEVEL"),
		Concurrency:        r.number("ENVOY_CONCURRENCY", 1, maxConcurrency),
		FetchTimeout:       time.Duration(r.number("ENVOY_INITIAL_FETCH_TIMEOUT", 0, maxSeconds)) * time.Second,
		StatsPort:          r.port("ENVOY_ADMIN_ACCESS_PORT"),
		StatsIPv6:          r.flag("ENVOY_ADMIN_ACCESS_ENABLE_IPV6", false),
		NoStatsTags:        !r.flag("ENABLE_ENVOY_STATS_TAGS", true),
		StatsFlushInterval: r.interval("ENVOY_STATS_FLUSH_INTERVAL"),
	}
	if r.text("LISTENER_DRAIN_WAIT_TIME_S") != "" {
		drain := time.Duration(r.number("LISTENER_DRAIN_WAIT_TIME_S", 0, maxSeconds)) * time.Second
		p.DrainTime = &drain
	}
	if port := int(p.StatsPort); slices.Contains(sidecarPorts, port) || slices.Contains(listenerPorts(w), port) {
		r.fail("ENVOY_ADMIN_ACCESS_PORT", "port %d is that of a listener", port)
	}
	tracingFile, sinksFile := r.file("ENVOY_TRACING_CFG_FILE"), r.file("ENVOY_STATS_SINKS_CFG_FILE")
	for _, file := range []string{
		tracingFile, r.file("ENVOY_STATS_CONFIG_FILE"), sinksFile, r.file("ENVOY_RESOURCES_CONFIG_FILE"),
	} {
		if file != "" && !slices.Contains(p.ConfigFiles, file) {
			p.ConfigFiles = append(p.ConfigFiles, file)
		}
	}
	p.Tracing = r.tracing(w, tracingFile)
	if sinksFile == "" { // the file replaces the other settings, as in App Mesh
		p.Statsd = r.statsd()
	}
	return p, errors.Join(r.errs...)
}

// tracing returns the tracer of the variables; nil for none.
func (r *variableReader) tracing(w model.Workload, file string) *sidecar.Tracing {
	var enabled []string
	for _, name := range []string{
		"ENABLE_ENVOY_XRAY_TRACING", "ENABLE_ENVOY_JAEGER_TRACING", "ENABLE_ENVOY_DATADOG_TRACING",
		"ENABLE_ENVOY_OTEL_TRACING",
	} {
		if r.flag(name, false) {
			enabled = append(enabled, name)
		}
	}
	if tracers := enabled; len(enabled) > 0 {
		if file != "" {
			tracers = append(tracers, "ENVOY_TRACING_CFG_FILE")
		}
		if len(tracers) > 1 {
			r.errs = append(r.errs, fmt.Errorf("variables %s: only one tracer is possible; set one of them",
				strings.Join(tracers, " and ")))
			return nil
		}
	}
	if len(enabled) == 0 {
		return nil
	}
	resource := w.Mesh + "/" + w.Name[strings.LastIndexByte(w.Name, '/')+1:]
	out := &sidecar.Tracing{SamplingRate: r.rate("TRACER_SAMPLING_RATE")}
	switch enabled[0] {
	case "ENABLE_ENVOY_XRAY_TRACING":
		r.xray(out, resource, w)
	case "ENABLE_ENVOY_JAEGER_TRACING":
		out.Protocol, out.Address = sidecar.TracingZipkin, r.address("JAEGER_TRACER_ADDRESS")
		out.Port = portOr(r.port("JAEGER_TRACER_PORT"), jaegerPort)
		out.JSON = strings.Contains(strings.ToLower(r.text("JAEGER_TRACER_VERSION")), "json")
	case "ENABLE_ENVOY_DATADOG_TRACING":
		out.Protocol, out.Address = sidecar.TracingDatadog, r.address("DATADOG_TRACER_ADDRESS")
		out.Port = portOr(r.port("DATADOG_TRACER_PORT"), datadogPort)
		if out.Service = r.text("DD_SERVICE"); out.Service == "" {
			out.Service = gatewayContainer + "-" + resource
		}
	case "ENABLE_ENVOY_OTEL_TRACING":
		out.Protocol, out.Address = sidecar.TracingOpenTelemetry, r.address("OTEL_TRACER_ADDRESS")
		out.Port = portOr(r.port("OTEL_TRACER_PORT"), openTelemetryPort)
	}
	return out
}

// localhost is the default address of receivers.
const localhost = "127.0.0.1"

// The default ports of receivers of spans and metrics.
const (
	xrayPort          = 2000
	jaegerPort        = 9411
	datadogPort       = 8126
	openTelemetryPort = 4317
	statsdPort        = 8125
)

func portOr(port, otherwise uint16) uint16 {
	if port == 0 {
		return otherwise
	}
	return port
}

// xray sets the daemon, sampling and segments of X-Ray. X-Ray shows segments with this origin as proxies of App Mesh.
func (r *variableReader) xray(out *sidecar.Tracing, resource string, w model.Workload) {
	out.Protocol, out.Address = sidecar.TracingXRay, localhost
	out.Port = portOr(r.port("XRAY_DAEMON_PORT"), xrayPort)
	if text := r.text("AWS_XRAY_DAEMON_ADDRESS"); text != "" {
		for part := range strings.FieldsSeq(text) { // "tcp:ADDRESS:PORT udp:ADDRESS:PORT", or ADDRESS:PORT for both
			if strings.HasPrefix(part, "tcp:") {
				continue
			}
			daemon, err := netip.ParseAddrPort(strings.TrimPrefix(part, "udp:"))
			if err != nil || daemon.Port() == 0 {
				r.fail("AWS_XRAY_DAEMON_ADDRESS", "%q is not an IP address and a port", text)
				continue
			}
			out.Address, out.Port = daemon.Addr().String(), daemon.Port()
		}
	}
	out.SamplingRate = r.rate(varSamplingRate)
	out.SamplingRules = r.file("XRAY_SAMPLING_RULE_MANIFEST")
	if out.Service = r.text("XRAY_SEGMENT_NAME"); out.Service == "" {
		out.Service = resource
	}
	name := resource[len(w.Mesh)+1:]
	out.Origin = "AWS::AppMesh::Proxy"
	out.Fields = map[string]map[string]string{"app_mesh": {"mesh_name": w.Mesh, "virtual_node_name": name}}
}

// statsd returns the receiver of metrics; nil for none.
func (r *variableReader) statsd() *sidecar.Statsd {
	if !r.flag("ENABLE_ENVOY_DOG_STATSD", false) {
		return nil
	}
	if socket := r.text("STATSD_SOCKET_PATH"); socket != "" {
		return &sidecar.Statsd{Socket: r.file("STATSD_SOCKET_PATH")}
	}
	out := &sidecar.Statsd{
		Address: r.address("STATSD_ADDRESS"), Port: portOr(r.port("STATSD_PORT"), statsdPort),
	}
	if _, err := netip.ParseAddr(out.Address); err != nil && !strings.Contains(out.Address, "$(") {
		r.fail("STATSD_ADDRESS", "%q is not an IP address", out.Address)
	}
	return out
}
