package osm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// MeshConfigKey is a setting of MeshConfig.
type MeshConfigKey struct {
	// Path is the path below spec: the area and the name. The value may have fields of its own.
	Path string
	// Effect is what the setting does, or why it has no effect.
	Effect string
	// set reads the value; nil if the setting has no effect.
	set func(*meshSpec, json.RawMessage) error
	// fits reports whether a value asks for what is done in any case, so that it needs no finding. The default is empty.
	fits func(json.RawMessage) bool
	// severity is that of the finding about another value. The default is model.Info.
	severity model.Severity
}

// Honored reports whether the setting has an effect.
func (k MeshConfigKey) Honored() bool { return k.set != nil }

// MeshConfigKeys lists the settings that any version of Open Service Mesh or of osm-edge has, by area.
func MeshConfigKeys() []MeshConfigKey {
	return slices.Concat(sidecarKeys, trafficKeys, otherKeys, featureKeys)
}

const (
	inHelm     = "has no effect: the Helm value %s has it"
	notWindows = "has no effect: pods of Windows get no sidecar"
	noOSMEdge  = "has no effect: it configures the sidecars of osm-edge"
)

var sidecarKeys = []MeshConfigKey{
	{
		Path: "sidecar.enablePrivilegedInitContainer", set: reads(func(m *meshSpec) *bool { return &m.privilegedInit }),
		Effect: "makes the init container of new pods privileged",
	},
	{
		Path: "sidecar.logLevel", set: readsOne(func(m *meshSpec) *string { return &m.logLevel }, logLevels...),
		Effect: "log level of the sidecars, at once also of running ones if their driver supports it",
	},
	{
		Path: "sidecar.sidecarClass", set: reads(func(m *meshSpec) *string { return &m.class }),
		Effect: "driver of new pods without the annotation `anymesh.dev/sidecarClass`. It needs a driver of the program, and an entry in the Helm value `osm.sidecarDrivers`; another class is an error",
	},
	{
		Path: "sidecar.sidecarImage", set: reads(func(m *meshSpec) *string { return &m.image }),
		Effect: "image of the sidecars of new pods with the driver of `sidecarClass`. It needs the program `anymesh`",
	},
	{
		Path: "sidecar." + namedImage, set: reads(func(m *meshSpec) *string { return &m.namedImage }),
		Effect: "as the `sidecarImage` in an entry of `sidecarDrivers` for the driver of this name",
	},
	{Path: "sidecar.sidecarWindowsImage", Effect: notWindows},
	{Path: "sidecar.SidecarImageWindowsImage", Effect: notWindows},
	{Path: "sidecar.envoyWindowsImage", Effect: notWindows},
	{
		Path: "sidecar.initContainerImage", set: reads(func(m *meshSpec) *string { return &m.initImage }),
		Effect: "image of the init container of new pods. It needs the program `anymesh`",
	},
	{
		Path: "sidecar.sidecarDrivers", set: readsDrivers,
		Effect: "images of new pods, by driver. A driver needs an entry in the Helm value `osm.sidecarDrivers`, too, which has its port. " +
			"`sidecarDisabledMTLS` has no effect: mutual TLS is always on",
	},
	{Path: "sidecar.maxDataPlaneConnections", Effect: fmt.Sprintf(inHelm, "osm.maxDataPlaneConnections")},
	{
		Path: "sidecar.configResyncInterval", fits: isOneOf(`""`, `"0s"`, `"0"`),
		Effect: "has no effect: sidecars get changes at once, and need no repetition",
	},
	{Path: "sidecar.sidecarTimeout", Effect: "has no effect: sidecars have no limit for the time of a request", severity: model.Warning},
	{
		Path: "sidecar.resources", set: reads(func(m *meshSpec) *resources { return &m.resources }),
		Effect: "requests and limits of the sidecars of new pods",
	},
	{
		Path: "sidecar.tlsMinProtocolVersion", fits: isOneOf(`""`, `"TLS_AUTO"`, `"TLSv1_0"`, `"TLSv1_1"`, `"TLSv1_2"`),
		Effect: "has no effect: sidecars use TLS 1.2 or 1.3", severity: model.Error,
	},
	{
		Path: "sidecar.tlsMaxProtocolVersion", fits: isOneOf(`""`, `"TLS_AUTO"`, `"TLSv1_3"`),
		Effect: "has no effect: sidecars use TLS 1.2 or 1.3", severity: model.Warning,
	},
	{Path: "sidecar.cipherSuites", Effect: "has no effect: sidecars use their own", severity: model.Warning},
	{Path: "sidecar.ecdhCurves", Effect: "has no effect: sidecars use their own", severity: model.Warning},
	{
		Path: "sidecar.localProxyMode", set: readsOne(func(m *meshSpec) *string { return &m.localProxyMode }, "Localhost", modePodIP),
		Effect: "where the sidecars of new pods connect to the application: at 127.0.0.1, or with `PodIP` at the address of the pod",
	},
	{Path: "sidecar.localDNSProxy", fits: isDisabled, Effect: fmt.Sprintf(inHelm, "osm.dns")},
}

var trafficKeys = []MeshConfigKey{
	{
		Path: "traffic.interceptionMode", fits: isOneOf(`""`, `"iptables"`), severity: model.Warning,
		Effect: "has no effect: the init container sets packet rules",
	},
	{
		Path: "traffic.enableEgress", set: reads(func(m *meshSpec) *bool { return &m.egress }),
		Effect: "passes connections to destinations that are not members, at once",
	},
	{
		Path: "traffic.enablePermissiveTrafficPolicyMode", set: reads(func(m *meshSpec) *bool { return &m.permissive }),
		Effect: "every member may call every member, at once",
	},
	{
		Path: "traffic.outboundIPRangeExclusionList", set: readsRanges(func(m *meshSpec) *[]string { return &m.outboundExclusions }),
		Effect: "added to the annotations of new pods",
	},
	{
		Path: "traffic.outboundIPRangeInclusionList", set: readsRanges(func(m *meshSpec) *[]string { return &m.outboundInclusions }),
		Effect: "added to the annotations of new pods",
	},
	{
		Path: "traffic.outboundPortExclusionList", set: readsPorts(func(m *meshSpec) *[]int { return &m.outboundPorts }),
		Effect: "added to the annotations of new pods",
	},
	{
		Path: "traffic.inboundPortExclusionList", set: readsPorts(func(m *meshSpec) *[]int { return &m.inboundPorts }),
		Effect: "added to the annotations of new pods",
	},
	{
		Path: "traffic.networkInterfaceExclusionList", severity: model.Warning,
		Effect: "has no effect: exclude ports or ranges",
	},
	{
		Path: "traffic.inboundExternalAuthorization", fits: isDisabled, severity: model.Error,
		Effect: "has no effect: requests are not sent to an authorization service",
	},
	{Path: "traffic.http1PerRequestLoadBalancing", fits: isOneOf("true"), Effect: "has no effect: each request is balanced"},
	{Path: "traffic.http2PerRequestLoadBalancing", fits: isOneOf("true"), Effect: "has no effect: each request is balanced"},
}

var otherKeys = []MeshConfigKey{
	{Path: "observability.osmLogLevel", Effect: fmt.Sprintf(inHelm, "logLevel")},
	{Path: "observability.enableDebugServer", Effect: "has no effect: the debug server runs always, for those whom the cluster authorizes"},
	{
		Path: "observability.tracing", set: readsTracing,
		Effect: "`enable`, `address`, `port` and `sampledFraction`: the sidecars of new pods send spans of Zipkin in JSON. `endpoint` is `/api/v2/spans`",
	},
	{
		Path: "observability.remoteLogging", fits: isDisabled, severity: model.Warning,
		Effect: "has no effect: access logs are in the logs of the pods",
	},
	{
		Path: "certificate.serviceCertValidityDuration", set: readsDuration(func(m *meshSpec) *duration { return &m.certificates }),
		Effect: "lifetime of the certificates of members that are issued later, from 1 minute",
	},
	{Path: "certificate.certKeyBitSize", fits: isOneOf("2048"), Effect: "has no effect: keys are ECDSA P-256"},
	{Path: "certificate.ingressGateway", severity: model.Warning, Effect: "has no effect: gateways of Anymesh have their own certificates"},
	{Path: "clusterSet.properties", Effect: "has no effect: the members of the fleet are objects of their own"},
	{Path: "repoServer.ipaddr", Effect: noOSMEdge},
	{Path: "repoServer.codebase", Effect: noOSMEdge},
	{Path: "pluginChains.inbound-tcp", Effect: noOSMEdge, severity: model.Warning},
	{Path: "pluginChains.inbound-http", Effect: noOSMEdge, severity: model.Warning},
	{Path: "pluginChains.outbound-tcp", Effect: noOSMEdge, severity: model.Warning},
	{Path: "pluginChains.outbound-http", Effect: noOSMEdge, severity: model.Warning},
}

var featureKeys = []MeshConfigKey{
	{Path: "featureFlags.enableWASMStats", Effect: "has no effect: sidecars have metrics of requests without it"},
	{Path: "featureFlags.enableEgressPolicy", fits: isOneOf("true"), Effect: "has no effect: objects of Egress always count"},
	{Path: "featureFlags.enableSnapshotCacheMode", Effect: "has no effect: changes are always computed once for all sidecars"},
	{Path: "featureFlags.enableAsyncProxyServiceMapping", Effect: "has no effect: pods are always indexed"},
	{Path: "featureFlags.enableIngressBackendPolicy", fits: isOneOf("true"), Effect: "has no effect: objects of IngressBackend always count"},
	{
		Path: "featureFlags.enableAccessControlPolicy", set: reads(func(m *meshSpec) *bool { return &m.accessControl }),
		Effect: "without it, objects of AccessControl have no effect, at once, and a finding says so",
	},
	{Path: "featureFlags.enableAccessCertPolicy", severity: model.Warning, Effect: "has no effect: AccessCert is not served"},
	{Path: "featureFlags.enableSidecarActiveHealthChecks", Effect: "has no effect: the readiness of pods counts"},
	{Path: "featureFlags.enableEnvoyActiveHealthChecks", Effect: "has no effect: the readiness of pods counts"},
	{Path: "featureFlags.enableRetryPolicy", fits: isOneOf("true"), Effect: "has no effect: objects of Retry always count"},
	{Path: "featureFlags.enablePluginPolicy", severity: model.Warning, Effect: noOSMEdge},
	{
		Path: "featureFlags.enableMeshRootCertificate", set: reads(func(m *meshSpec) *bool { return &m.rootCertificates }),
		Effect: "objects of MeshRootCertificate with the provider `tresor` rotate the root of Anymesh",
	},
}

// isEmpty reports whether a value is the zero value of its type.
func isEmpty(value json.RawMessage) bool {
	return slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, compact(value))
}

// isDisabled reports whether an object has no field enable that is true.
func isDisabled(value json.RawMessage) bool {
	var o struct {
		Enable bool `json:"enable"`
	}
	return json.Unmarshal(value, &o) == nil && !o.Enable
}

func isOneOf(texts ...string) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool { return slices.Contains(texts, compact(value)) }
}

// parts returns the area and the name.
func (k MeshConfigKey) parts() (area, name string) {
	area, name, _ = strings.Cut(k.Path, ".")
	return area, name
}

// read reads a value into the settings, or the last valid one if it is invalid and last is not empty. It returns a
// finding about a value that is invalid, or has no effect.
func (k MeshConfigKey) read(into *meshSpec, value, last json.RawMessage, at model.Origin) *model.Finding {
	if k.set != nil {
		err := k.set(into, value)
		if err == nil {
			return nil
		}
		instead := "the default is used"
		if len(last) > 0 && !k.valid(value) && k.set(into, last) == nil {
			instead = "the last valid value, " + compact(last) + ", is used"
		}
		f := model.NewFinding(at, model.CodeInvalidField, err.Error()+"; "+instead)
		return &f
	}
	fits := k.fits
	if fits == nil {
		fits = isEmpty
	}
	if fits(value) {
		return nil
	}
	f := model.NewFinding(at, model.CodeFieldNotImplemented, k.Effect)
	f.Severity = cmp.Or(k.severity, model.Info)
	return &f
}
