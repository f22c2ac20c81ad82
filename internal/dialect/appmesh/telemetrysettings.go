package appmesh

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// Tracing is the receiver of spans of all proxies.
type Tracing struct {
	Enabled  bool   `json:"enabled"`
	Provider string `json:"provider"`
	// Address and Port are not for X-Ray, as in App Mesh. Port 0 is the default of the provider.
	Address string `json:"address"`
	Port    uint16 `json:"port"`
	// SamplingRate is a number from 0 to 1; empty is the default of the provider.
	SamplingRate scalar `json:"samplingRate"`
}

// scalar is a number or a text in the values.
type scalar string

// UnmarshalJSON reads a number or a text.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if err := json.Unmarshal(raw, &number); err == nil {
		*s = scalar(number)
		return nil
	}
	return json.Unmarshal(raw, (*string)(s))
}

// Stats are the metrics of all proxies.
type Stats struct {
	TagsEnabled      bool   `json:"tagsEnabled"`
	StatsdEnabled    bool   `json:"statsdEnabled"`
	StatsdAddress    string `json:"statsdAddress"`
	StatsdPort       uint16 `json:"statsdPort"`
	StatsdSocketPath string `json:"statsdSocketPath"`
}

// XRay is the daemon of X-Ray in the pods.
type XRay struct {
	Image string `json:"image"`
}

// sidecarValues are the settings of the container of the proxy.
type sidecarValues struct {
	Resources resourceValues `json:"resources"`
}

type resourceValues struct {
	Requests map[corev1.ResourceName]scalar `json:"requests"`
	Limits   map[corev1.ResourceName]scalar `json:"limits"`
}

// requirements parses the resources. Empty quantities count as unset, as in the chart of App Mesh.
func (v resourceValues) requirements() (corev1.ResourceRequirements, error) {
	var out corev1.ResourceRequirements
	for _, list := range []struct {
		name string
		from map[corev1.ResourceName]scalar
		into *corev1.ResourceList
	}{{"requests", v.Requests, &out.Requests}, {"limits", v.Limits, &out.Limits}} {
		for name, text := range list.from {
			if text == "" {
				continue
			}
			if err := setQuantity(list.into, name)(string(text)); err != nil {
				return out, fmt.Errorf("sidecar.resources.%s.%s: %w", list.name, name, err)
			}
		}
	}
	return out, nil
}

// tracers has the variables of each provider: one to enable it, its address and its port.
var tracers = map[string]struct{ enable, address, port string }{
	"x-ray":         {"ENABLE_ENVOY_XRAY_TRACING", "", ""},
	"jaeger":        {"ENABLE_ENVOY_JAEGER_TRACING", "JAEGER_TRACER_ADDRESS", "JAEGER_TRACER_PORT"},
	"datadog":       {"ENABLE_ENVOY_DATADOG_TRACING", "DATADOG_TRACER_ADDRESS", "DATADOG_TRACER_PORT"},
	"opentelemetry": {"ENABLE_ENVOY_OTEL_TRACING", "OTEL_TRACER_ADDRESS", "OTEL_TRACER_PORT"},
}

const providerXRay = "x-ray"

// check returns an error that names the setting.
func (t Tracing) check(image string) error {
	if !t.Enabled {
		return nil
	}
	tracer, ok := tracers[t.Provider]
	if !ok {
		return fmt.Errorf("tracing.provider: %q is not one of %s", t.Provider,
			strings.Join(slices.Sorted(maps.Keys(tracers)), ", "))
	}
	if tracer.address != "" && (t.Address == "" || strings.ContainsAny(t.Address, "/ \t\"\\")) {
		return fmt.Errorf("tracing.address: %q is not a host name, an IP address or ref:status.hostIP", t.Address)
	}
	if t.Provider == providerXRay && image == "" {
		return errors.New("xray.image: set the image of the X-Ray daemon")
	}
	if t.SamplingRate != "" {
		if _, err := parseRate(string(t.SamplingRate)); err != nil {
			return fmt.Errorf("tracing.samplingRate: %w", err)
		}
	}
	return nil
}

func (s Stats) check() error {
	p := s.StatsdSocketPath
	if p != "" && (!path.IsAbs(p) || path.Clean(p) != p) {
		return fmt.Errorf("stats.statsdSocketPath: %q is not the absolute path of a socket", p)
	}
	if _, err := netip.ParseAddr(s.StatsdAddress); err != nil && !strings.HasPrefix(s.StatsdAddress, fieldPrefix) {
		return fmt.Errorf("stats.statsdAddress: %q is neither an IP address nor ref:status.hostIP", s.StatsdAddress)
	}
	return nil
}

// env returns the variables of the settings, with the names of App Mesh's image.
func (s Settings) env() []corev1.EnvVar {
	var out []corev1.EnvVar
	add := func(name, value string) {
		if name != "" && value != "" {
			out = append(out, corev1.EnvVar{Name: name, Value: value})
		}
	}
	port := func(p uint16) string {
		if p == 0 {
			return ""
		}
		return strconv.Itoa(int(p))
	}
	add(varRegion, s.Region)
	if s.Tracing.Enabled {
		tracer := tracers[s.Tracing.Provider]
		add(tracer.enable, "1")
		if s.Tracing.Provider == providerXRay {
			add(varSamplingRate, string(s.Tracing.SamplingRate))
		} else {
			add(tracer.address, s.Tracing.Address)
			add(tracer.port, port(s.Tracing.Port))
			add("TRACER_SAMPLING_RATE", string(s.Tracing.SamplingRate))
		}
	}
	if s.NoStatsTags {
		add("ENABLE_ENVOY_STATS_TAGS", "0")
	}
	if s.Stats.StatsdEnabled {
		add("ENABLE_ENVOY_DOG_STATSD", "1")
		if s.Stats.StatsdSocketPath != "" {
			add("STATSD_SOCKET_PATH", s.Stats.StatsdSocketPath)
		} else {
			add("STATSD_ADDRESS", s.Stats.StatsdAddress)
			add("STATSD_PORT", port(s.Stats.StatsdPort))
		}
	}
	return out
}

// xrayContainer has the name of App Mesh's container, so that pods with their own daemon keep it.
const xrayContainer = "xray-daemon"

// xrayConfigFile is the file of the daemon's configuration in the volume of the annotation.
const xrayConfigFile = "xray-daemon.yaml"

// xrayDaemon returns the daemon that receives the spans of the proxy. It needs the credentials of the pod's service
// account.
func (s Settings) xrayDaemon(t *sidecar.Tracing, resources corev1.ResourceRequirements,
	config *corev1.VolumeMount) corev1.Container {
	uid, no := int64(sidecar.UID), false
	out := corev1.Container{
		Name: xrayContainer, Image: s.XRay.Image,
		Ports: []corev1.ContainerPort{{Name: "xray", ContainerPort: int32(t.Port), Protocol: corev1.ProtocolUDP}},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: &uid, AllowPrivilegeEscalation: &no,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		Resources: resources,
	}
	if s.Region != "" {
		out.Env = []corev1.EnvVar{{Name: varRegion, Value: s.Region}}
	}
	if t.Port != xrayPort {
		out.Args = append(out.Args, "--bind", fmt.Sprintf("127.0.0.1:%d", t.Port))
	}
	if config != nil {
		out.Args = append(out.Args, "--config", path.Join(config.MountPath, xrayConfigFile))
		out.VolumeMounts = []corev1.VolumeMount{*config}
	}
	return out
}
