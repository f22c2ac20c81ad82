package appmesh

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
)

// Variables of the container of the proxy that several files use. They have the names of App Mesh's image.
const (
	varRegion       = "AWS_REGION"
	varSamplingRate = "XRAY_SAMPLING_RATE"
	varResources    = "ENVOY_RESOURCES_CONFIG_FILE"
)

// addressVariables may have values of the form ref:FIELD, for example ref:status.hostIP, as in App Mesh. The value is
// then that field of the pod.
var addressVariables = []string{
	"STATSD_ADDRESS", "JAEGER_TRACER_ADDRESS", "DATADOG_TRACER_ADDRESS", "OTEL_TRACER_ADDRESS",
}

const fieldPrefix = "ref:"

// readVariables are the variables that proxySettings reads.
var readVariables = []string{
	"APPMESH_RESOURCE_CLUSTER", "AWS_XRAY_DAEMON_ADDRESS", "DATADOG_TRACER_ADDRESS", "DATADOG_TRACER_PORT", "DD_SERVICE",
	"ENABLE_ENVOY_DATADOG_TRACING", "ENABLE_ENVOY_DOG_STATSD", "ENABLE_ENVOY_JAEGER_TRACING", "ENABLE_ENVOY_OTEL_TRACING",
	"ENABLE_ENVOY_STATS_TAGS", "ENABLE_ENVOY_XRAY_TRACING", "ENVOY_ADMIN_ACCESS_ENABLE_IPV6", "ENVOY_ADMIN_ACCESS_PORT",
	"ENVOY_CONCURRENCY", "ENVOY_INITIAL_FETCH_TIMEOUT", "ENVOY_LOG_LEVEL", varResources,
	"ENVOY_STATS_CONFIG_FILE", "ENVOY_STATS_FLUSH_INTERVAL", "ENVOY_STATS_SINKS_CFG_FILE", "ENVOY_TRACING_CFG_FILE",
	"JAEGER_TRACER_ADDRESS", "JAEGER_TRACER_PORT", "JAEGER_TRACER_VERSION", "LISTENER_DRAIN_WAIT_TIME_S",
	"OTEL_TRACER_ADDRESS", "OTEL_TRACER_PORT", "STATSD_ADDRESS", "STATSD_PORT", "STATSD_SOCKET_PATH", "TRACER_SAMPLING_RATE",
	"XRAY_DAEMON_PORT", varSamplingRate, "XRAY_SAMPLING_RULE_MANIFEST", "XRAY_SEGMENT_NAME",
}

// setVariables are the variables that the dialect sets for programs in the container.
var setVariables = []string{
	"APPMESH_PLATFORM_K8S_POD_UID", "APPMESH_RESOURCE_ARN", "APPMESH_SDS_SOCKET_PATH", "APPMESH_VIRTUAL_NODE_NAME", varRegion,
}

// unsupportedVariables are variables of App Mesh's image without an effect, and why.
var unsupportedVariables = map[string]string{
	"APPMESH_DUALSTACK_ENDPOINT":                     noEndpoint,
	"APPMESH_FIPS_ENDPOINT":                          noEndpoint,
	"APPMESH_METRIC_EXTENSION_VERSION":               "the metrics extension is a part of AWS's image",
	"APPMESH_PLATFORM_APP_MESH_CONTROLLER_VERSION":   "it was for AWS",
	"APPMESH_PLATFORM_K8S_VERSION":                   "it was for AWS",
	"APPMESH_PREVIEW":                                noEndpoint,
	"APPMESH_SET_TRACING_DECISION":                   "the proxy sets its sampling decision in x-request-id, the default of App Mesh",
	"APPMESH_SIGNING_NAME":                           noEndpoint,
	"APPMESH_XDS_ENDPOINT":                           "Anymesh is the only source of configuration",
	"APPNET_AGENT_ADMIN_MODE":                        noAgent,
	"APPNET_AGENT_ADMIN_UDS_PATH":                    noAgent,
	"APPNET_ENVOY_RESTART_COUNT":                     "Kubernetes restarts the container, without a limit",
	"ENVOY_ADMIN_ACCESS_LOG_FILE":                    "only processes in the container have access to the admin interface",
	"ENVOY_ADMIN_MODE":                               "the admin interface is a Unix domain socket in the container",
	"ENVOY_CONFIG_FILE":                              "use " + varResources + ", which is merged into the configuration",
	"ENVOY_ENABLE_TCP_POOL_IDLE_TIMEOUT":             "idle timeouts are those of the listeners and routes",
	"ENVOY_NO_EXTENSION_LOOKUP_BY_NAME":              "the configuration has type URLs",
	"ENVOY_USE_HTTP_CLIENT_TO_FETCH_AWS_CREDENTIALS": "the proxy needs no credentials of AWS",
	"MAX_REQUESTS_PER_IO_CYCLE":                      "set http.max_requests_per_io_cycle in layered_runtime of " + varResources,
}

const (
	noEndpoint = "the proxy does not connect to AWS"
	noAgent    = "the agent of Anymesh has no such interface"
)

// setVariable sets a variable and replaces an earlier one with its name.
func setVariable(env []corev1.EnvVar, v corev1.EnvVar) []corev1.EnvVar {
	if i := findVariable(env, v.Name); i >= 0 {
		env[i] = v
		return env
	}
	return append(env, v)
}

func findVariable(env []corev1.EnvVar, name string) int {
	return slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
}

// environmentOf returns the variables for the container of the proxy, and warnings. As in App Mesh, variables of the
// dialect take precedence over those of annotations, except for the sampling rate.
func environmentOf(own, annotated []corev1.EnvVar) (env []corev1.EnvVar, warnings []string) {
	env = slices.Clone(own)
	for _, v := range annotated {
		if i := findVariable(own, v.Name); i < 0 || v.Name == varSamplingRate {
			env = setVariable(env, v)
		} else if own[i].ValueFrom != nil || own[i].Value != v.Value {
			warnings = append(warnings, fmt.Sprintf("variable %s of the annotations is ignored: the injector sets it", v.Name))
		}
	}
	for i, v := range env {
		field, ok := strings.CutPrefix(v.Value, fieldPrefix)
		if ok && slices.Contains(addressVariables, v.Name) {
			env[i].Value, env[i].ValueFrom = "", &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field},
			}
		}
	}
	return env, warnings
}

// effective returns the environment of the proxy's container: a container of the user keeps its own variables.
func effective(pod *corev1.Pod, o dialect.PodOptions) []corev1.EnvVar {
	env := slices.Clone(o.Env)
	for _, c := range pod.Spec.Containers {
		if o.ProxyContainer == "" || c.Name != o.ProxyContainer {
			continue
		}
		for _, v := range c.Env {
			env = setVariable(env, v)
		}
	}
	return env
}

// variableWarnings returns warnings for variables of App Mesh's image without an effect.
func variableWarnings(env []corev1.EnvVar) []string {
	var out []string
	for _, v := range env {
		if reason := unsupportedVariables[v.Name]; reason != "" && v.Value != "0" {
			out = append(out, fmt.Sprintf("variable %s is not supported: %s", v.Name, reason))
		}
	}
	return out
}
