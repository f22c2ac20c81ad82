package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/charts"
	"anymesh.dev/anymesh/charts/valuesschema"
)

// refusedValues are the values that the control plane refuses at its start: the name of the value, the values, and what
// the control plane says.
var refusedValues = []struct{ name, values, control string }{
	{"logLevel", `{logLevel: loud}`, "--log-level"},
	{"statusWritesPerSecond", `{statusWritesPerSecond: 0}`, "--status-writes-per-second"},
	{"statusWritesPerSecond", `{statusWritesPerSecond: 201}`, "--status-writes-per-second"},

	{"webhooks.apiServerAddresses", `{webhooks: {apiServerAddresses: [api.example]}}`, "--api-server-addresses"},
	{"webhooks.apiServerAddresses", `{webhooks: {apiServerAddresses: [10.0.0.0/99]}}`, "--api-server-addresses"},
	{"webhooks.apiServerAddresses", `{webhooks: {apiServerAddresses: [10.0.0.256]}}`, "--api-server-addresses"},

	{"trustDomain", `{trustDomain: Example.org}`, "trust domain"},
	{"trustDomain", `{trustDomain: "spiffe://example.org"}`, "trust domain"},
	{"trustDomain", `{trustDomain: ""}`, "trust domain"},
	{"trustDomain", `{trustDomain: ` + strings.Repeat("a", 256) + `}`, "trust domain"},
	{"certificateLifetime", `{certificateLifetime: 1d}`, "--certificate-lifetime"},
	{"certificateLifetime", `{certificateLifetime: ""}`, "--certificate-lifetime"},
	{"certificateLifetime", `{certificateLifetime: 0s}`, "certificate lifetime 0s: it must be positive"},
	{"certificateLifetime", `{certificateLifetime: -1h}`, "it must be positive"},
	{"rootLifetime", `{rootLifetime: a year}`, "--root-lifetime"},
	{"rootLifetime", `{rootLifetime: 9999999h}`, "--root-lifetime"},
	{"rootLifetime", `{rootLifetime: 239h}`, "it must be at least ten times the certificate lifetime"},
	{"rootLifetime", `{certificateLifetime: 1h30m, rootLifetime: 14h59m59s}`, "it must be at least ten times the certificate lifetime"},

	{"osm.sidecarClass", `{osm: {sidecarClass: linkerd}}`, `unknown driver "linkerd"`},
	{"osm.sidecarClass", `{osm: {sidecarClass: Envoy}}`, `unknown driver "Envoy"`},
	{"osm.sidecarClass", `{osm: {sidecarClass: linkerd, sidecarDrivers: [{sidecarName: linkerd}]}}`, `unknown driver`},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: 15010}]}}`, "port 15010 of the signing endpoint"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: 15011}]}}`, "port 15011 of the host names"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: 9443}]}}`, "port 9443 of the webhooks"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: 9090}]}}`, "port 9090 of the metrics"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: 9091}]}}`, "port 9091 of the debug server"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, proxyServerPort: -1}]}}`, "proxyServerPort"},
	{"osm.sidecarDrivers", `{osm: {sidecarDrivers: [{sidecarName: envoy, image: x}]}}`, `unknown field "image"`},
	{"l7mp.restAPI", `{l7mp: {restAPI: true}, osm: {sidecarDrivers: [{sidecarName: envoy}]}}`, "restAPI needs an entry"},
	{"osm.dns", `{osm: {dns: Some}}`, "sidecar.dns"},
	{"osm.bypass", `{osm: {bypass: refuse}}`, "sidecar.bypass"},
	{"osm.reservedRanges", `{osm: {ipv6: Disabled, reservedRanges: ["fd00::/64"]}}`, "add an IPv4 range"},
	{"osm.ipv6", `{osm: {ipv6: "Off"}}`, "sidecar.ipv6 is \"Off\""},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.0]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.256/16]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.0/33]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.0/016]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [""]}}`, "first address of a range"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.1/16]}}`, "240.240.0.1/16 is not the first address of a range with its length"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.8.0/20]}}`, "240.240.8.0/20 is not the first address of a range with its length"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.240.0.0/29]}}`, "fewer than 16 addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [127.0.0.0/8]}}`, "127.0.0.0/8 is not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [239.0.0.0/8]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [169.254.0.0/16]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [0.0.0.0/8]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["::/64"]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00:::/64"]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00:1/64"]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00::1::/64"]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["1:2:3:4:5:6:7:8::/64"]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd000::/64"]}}`, "mesh configuration"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00::/125"]}}`, "fewer than 16 addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00::1/64"]}}`, "not the first address"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00:0:0:0:8000::/64"]}}`, "not the first address"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00:0:0:1::/63"]}}`, "not the first address"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["::ffff:f0f0:0/112"]}}`, "not the first address"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["ff02::/64"]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["febf::/64"]}}`, "not a range of unicast addresses"},
	{"osm.reservedRanges", `{osm: {reservedRanges: [240.0.0.0/16, 241.0.0.0/16]}}`, "240.0.0.0/16 and 241.0.0.0/16 have the same family"},
	{"osm.reservedRanges", `{osm: {reservedRanges: ["fd00::/64", "fd01::/64"]}}`, "have the same family"},

	{"routeTrait.enabled", `{routeTrait: {enabled: "yes"}}`, "settings of the Route trait"},
	{"routeTrait", `{routeTrait: {default: nginx}}`, `unknown field "default"`},

	{"appmesh", `{appmesh: {retries: true}}`, `unknown field "retries"`},
	{"appmesh.defaultRetry", `{appmesh: {defaultRetry: 2}}`, "settings of dialect appmesh"},
	{"appmesh.panicThreshold", `{appmesh: {panicThreshold: 101}}`, "panicThreshold"},
	{"appmesh.panicThreshold", `{appmesh: {panicThreshold: -1}}`, "settings of dialect appmesh"},
	{"appmesh.gatewayHealthCheck", `{appmesh: {gatewayHealthCheck: Off}}`, "gatewayHealthCheck"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: run/agent.sock}}}`, "sds.udsPath"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: /run/../agent.sock}}}`, "sds.udsPath"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: /run/./agent.sock}}}`, "sds.udsPath"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: /run//agent.sock}}}`, "sds.udsPath"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: /run/}}}`, "sds.udsPath"},
	{"appmesh.sds.udsPath", `{appmesh: {sds: {enabled: true, udsPath: /}}}`, "sds.udsPath"},
	{"appmesh.acm.certificates", `{appmesh: {acm: {certificates: {"arn:x": Shop_Certificate}}}}`, "is not the name of a Secret"},
	{"appmesh.acm.certificates", `{appmesh: {acm: {certificates: {"arn:x": ""}}}}`, "is not the name of a Secret"},
	{"appmesh.acm.authorities", `{appmesh: {acm: {authorities: {"arn:x": shop.-ca}}}}`, "is not the name of a Secret"},
	{"appmesh.acm.authorities", `{appmesh: {acm: {authorities: {"arn:x": ` + strings.Repeat("a", 254) + `}}}}`, "is not the name of a Secret"},
	{"appmesh.sidecar.resources.requests", `{appmesh: {sidecar: {resources: {requests: {cpu: much}}}}}`, "sidecar.resources.requests.cpu"},
	{"appmesh.sidecar.resources.limits", `{appmesh: {sidecar: {resources: {limits: {memory: 1 Gi}}}}}`, "sidecar.resources.limits.memory"},
	{"appmesh.tracing.provider", `{appmesh: {tracing: {enabled: true, provider: zipkin}}}`, "tracing.provider"},
	{"appmesh.tracing.address", `{appmesh: {tracing: {enabled: true, provider: jaeger}}}`, "tracing.address"},
	{"appmesh.tracing.address", `{appmesh: {tracing: {enabled: true, provider: jaeger, address: "http://jaeger"}}}`, "tracing.address"},
	{"appmesh.tracing.port", `{appmesh: {tracing: {port: 65536}}}`, "settings of dialect appmesh"},
	{"appmesh.tracing.samplingRate", `{appmesh: {tracing: {enabled: true, samplingRate: 1.5}}}`, "tracing.samplingRate"},
	{"appmesh.tracing.samplingRate", `{appmesh: {tracing: {enabled: true, samplingRate: "0.1.2"}}}`, "tracing.samplingRate"},
	{"appmesh.tracing.samplingRate", `{appmesh: {tracing: {enabled: true, samplingRate: "7"}}}`, "tracing.samplingRate"},
	{"appmesh.xray.image", `{appmesh: {tracing: {enabled: true}, xray: {image: ""}}}`, "xray.image"},
	{"appmesh.stats.statsdAddress", `{appmesh: {stats: {statsdAddress: statsd}}}`, "stats.statsdAddress"},
	{"appmesh.stats.statsdAddress", `{appmesh: {stats: {statsdAddress: 127.0.0.256}}}`, "stats.statsdAddress"},
	{"appmesh.stats.statsdAddress", `{appmesh: {stats: {statsdAddress: "fd00:::1"}}}`, "stats.statsdAddress"},
	{"appmesh.stats.statsdPort", `{appmesh: {stats: {statsdPort: 65536}}}`, "settings of dialect appmesh"},
	{"appmesh.stats.statsdSocketPath", `{appmesh: {stats: {statsdSocketPath: statsd.sock}}}`, "stats.statsdSocketPath"},
	{"appmesh.stats.statsdSocketPath", `{appmesh: {stats: {statsdSocketPath: /run/../statsd.sock}}}`, "stats.statsdSocketPath"},

	{"ingress", `{ingress: {controller: true}}`, `unknown field "controller"`},
	{"ingress.replicas", `{ingress: {replicas: 3000000000}}`, "settings of dialect ingress"},
	{"ingress.trustedHops", `{ingress: {trustedHops: 17}}`, "trustedHops is 17; set a number from 0 to 16"},
	{"ingress.trustedHops", `{ingress: {trustedHops: -1}}`, "cannot unmarshal number -1"},
	{"ingress.autoscaling.maxReplicas", `{ingress: {autoscaling: {maxReplicas: 3000000000}}}`, "settings of dialect ingress"},
	{"ingress.autoscaling.targetCPUUtilizationPercentage", `{ingress: {autoscaling: {targetCPUUtilizationPercentage: high}}}`, "settings of dialect ingress"},
	{"ingress.podDisruptionBudget.maxUnavailable", `{ingress: {podDisruptionBudget: {maxUnavailable: true}}}`, "settings of dialect ingress"},
	{"ingress.podDisruptionBudget.minAvailable", `{ingress: {podDisruptionBudget: {minAvailable: 3000000000}}}`, "settings of dialect ingress"},
	{"ingress.nodeSelector", `{ingress: {nodeSelector: {edge: true}}}`, "settings of dialect ingress"},
	{"ingress.tolerations", `{ingress: {tolerations: [{key: a, effects: b}]}}`, `unknown field "effects"`},
	{"ingress.tolerations", `{ingress: {tolerations: [{tolerationSeconds: soon}]}}`, "settings of dialect ingress"},
	{"ingress.affinity", `{ingress: {affinity: {nodes: {}}}}`, `unknown field "nodes"`},
	{"ingress.affinity.podAntiAffinity", `{ingress: {affinity: {podAntiAffinity: {preferred: []}}}}`, `unknown field "preferred"`},
	{"ingress.topologySpreadConstraints", `{ingress: {topologySpreadConstraints: [{maxSkew: few, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}}`, "settings of dialect ingress"},
	{"ingress.service.annotations", `{ingress: {service: {annotations: {a: 1}}}}`, "settings of dialect ingress"},
	{"ingress.resources.requests", `{ingress: {resources: {requests: {cpu: much}}}}`, "settings of dialect ingress"},
	{"ingress.resources", `{ingress: {resources: {request: {}}}}`, `unknown field "request"`},
}

// acceptedValues are unusual values that both accept.
var acceptedValues = []string{
	`{}`,
	`{trustDomain: a_b-c.d, certificateLifetime: 1h30m, rootLifetime: 15h, statusWritesPerSecond: 200}`,
	`{certificateLifetime: 008m, rootLifetime: 4800s}`,
	`{osm: {sidecarDrivers: []}}`,
	`{osm: {bypass: Refuse}}`,
	`{osm: {sidecarDrivers: [{sidecarName: another, proxyServerPort: 1}]}}`,
	`{osm: {reservedRanges: [10.64.0.0/10]}}`,
	`{osm: {reservedRanges: ["fd00:0:0:2::/63", 198.18.0.240/28]}}`,
	`{osm: {reservedRanges: ["2001:db8:1:2:3:4:5:6670/124"]}}`,
	`{routeTrait: {enabled: true, provider: nginx-ingress, definitionNamespace: vela}}`,
	`{appmesh: {panicThreshold: 100, gatewayHealthCheck: Readiness, sds: {enabled: true, udsPath: /run/..spire/.a/agent.sock}}}`,
	`{appmesh: {acm: {certificates: {"arn:x": shop.tls}, authorities: {"arn:y": shop-ca}}}}`,
	`{appmesh: {sidecar: {resources: {requests: {cpu: 0.5, memory: "", ephemeral-storage: 1e3}, limits: {memory: 1.5Gi}}}}}`,
	`{appmesh: {tracing: {enabled: true, provider: datadog, address: "ref:status.hostIP", samplingRate: "0.25"}}}`,
	`{appmesh: {stats: {statsdAddress: "fd00::1", statsdSocketPath: /run/statsd.sock}}}`,
	`{ingress: {enabled: true, tolerations: [{operator: Exists, tolerationSeconds: 5}], resources: {limits: {memory: 1Gi}}}}`,
}

// TestRefusedValues checks that each value that the control plane refuses is refused before it is installed, with its
// name.
func TestRefusedValues(t *testing.T) {
	for _, c := range refusedValues {
		t.Run(c.values[:min(60, len(c.values))], func(t *testing.T) {
			if code, out := startWith(t, c.values); code == 0 || !strings.Contains(out, c.control) {
				t.Errorf("the control plane exits with %d, want an error with %q:\n%s", code, c.control, out)
			}
			code, _, stderr := runCommand(t, "install", "--dry-run", "--skip-crds", "--values", valuesFile(t, c.values))
			path := "'/" + strings.ReplaceAll(c.name, ".", "/")
			if code == 0 || !strings.Contains(stderr, path) && !strings.Contains(stderr, c.name) {
				t.Errorf("anymesh install exits with %d, want an error with %s:\n%s", code, c.name, stderr)
			}
		})
	}
}

// TestAcceptedValues checks that neither refuses more than it has to.
func TestAcceptedValues(t *testing.T) {
	for _, values := range acceptedValues {
		t.Run(values[:min(60, len(values))], func(t *testing.T) {
			if code, out := startWith(t, values); code != 0 {
				t.Errorf("the control plane exits with %d:\n%s", code, out)
			}
			if code, _, stderr := runCommand(t, "install", "--dry-run", "--skip-crds", "--values", valuesFile(t, values)); code != 0 {
				t.Errorf("anymesh install exits with %d:\n%s", code, stderr)
			}
		})
	}
}

func valuesFile(t *testing.T, values string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(name, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// startWith runs the control plane as the chart does without its checks, until it waits for the API server. It returns
// its exit code and its error.
func startWith(t *testing.T, text string) (int, string) {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	rendered := unchecked(t, values)
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(rendered["anymesh/templates/config.yaml"]), &config); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range config.Data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(unreachableKubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{
		"controller", "--kubeconfig", kubeconfig, "--metrics-address", "127.0.0.1:9090", "--webhook-address", "127.0.0.1:9443",
		"--signing-address", "127.0.0.1:15010",
	}
	documents := strings.Split(rendered["anymesh/templates/controlplane.yaml"], "\n---\n")
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(documents[len(documents)-1]), &deployment); err != nil {
		t.Fatal(err)
	}
	for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
		arguments = append(arguments, strings.Replace(argument, "/etc/anymesh", dir, 1))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the settings are read, and no server starts
	var out bytes.Buffer
	code := Run(ctx, arguments, strings.NewReader(""), &out, &out)
	return code, out.String()
}

const unreachableKubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
`

// unchecked renders the chart without its schema and its refusals.
func unchecked(t *testing.T, overrides map[string]any) map[string]string {
	t.Helper()
	var files []*archive.BufferedFile
	err := fs.WalkDir(charts.Anymesh, "anymesh", func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "anymesh/")
		if err != nil || entry.IsDir() || name == valuesschema.File || name == "templates/refusals.yaml" {
			return err
		}
		content, err := fs.ReadFile(charts.Anymesh, path)
		files = append(files, &archive.BufferedFile{Name: name, Data: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "anymesh", Namespace: "anymesh-system", Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(chart, overrides, release, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
