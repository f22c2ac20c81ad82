package sidecar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Configurator returns the settings of one sidecarClass.
type Configurator interface {
	GetSidecarClass() string
	GetSidecarImage() string
	GetSidecarWindowsImage() string
	GetInitContainerImage() string
	IsPrivilegedInitContainer() bool
	GetProxyServerPort() uint32
	GetSidecarLogLevel() string
	// GetMaxDataPlaneConnections returns the limit of connections of sidecars; 0 means that of the control plane.
	GetMaxDataPlaneConnections() int
	// GetConfigResyncInterval returns the interval of repetitions; 0 means none.
	GetConfigResyncInterval() time.Duration
	GetIPv6() bool
}

// MeshConfig is the mesh-wide configuration: the JSON document in the ConfigMap preset-mesh-config.
type MeshConfig struct {
	Sidecar Settings `json:"sidecar"`
}

// KubernetesSecretsSocket is the Unix domain socket on which the agent of a gateway serves certificates of Secrets, by
// Envoy's secret discovery service. The name of a certificate is KubernetesSecretPrefix and NAMESPACE/NAME.
const (
	KubernetesSecretsSocket = CertificatesDir + "/secrets.sock"
	KubernetesSecretPrefix  = "kubernetes://"
	// CertificateSourceType is the type of a resource for each such certificate, of its name. The agent subscribes to it
	// and rejects it while the Secret has no valid certificate. No proxy reads it.
	CertificateSourceType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig"
)

// DNSAnnotation of a pod, or else of its namespace, sets which names the agent of the pod answers. The default is
// Settings.DNS.
//
// The values are those of model.DNSMode. Injection writes the mode of the pod into this annotation.
const DNSAnnotation = "anymesh.dev/dns"

// BypassAnnotation of a pod says how its connections bypass its sidecar. Injection sets or removes it.
const BypassAnnotation = "anymesh.dev/bypass"

// DialectAnnotation of a pod names the dialect of its sidecar. Injection sets it if workloads of other dialects select
// the pod, too, for which its injection is disabled.
const DialectAnnotation = "anymesh.dev/dialect"

// BypassMode is what admission does with a pod that bypasses its sidecar.
type BypassMode string

const (
	// BypassWarn admits the pod with a warning, and its workload gets a finding.
	BypassWarn BypassMode = "Warn"
	// BypassRefuse denies the pod.
	BypassRefuse BypassMode = "Refuse"
)

// IPv6Mode is whether sidecars and gateways listen on IPv6.
type IPv6Mode string

const (
	// IPv6Auto is IPv6Enabled, or IPv6Disabled if the kernel of the control plane has no IPv6.
	IPv6Auto IPv6Mode = "Auto"
	// IPv6Enabled requires kernels with IPv6 on all nodes.
	IPv6Enabled IPv6Mode = "Enabled"
	// IPv6Disabled refuses connections over IPv6, where a kernel has it.
	IPv6Disabled IPv6Mode = "Disabled"
)

// UUIDLabel is the pod label with the UUID of the sidecar. Injection sets it.
const UUIDLabel = "anymesh.dev/proxy-uuid"

// Settings are the sidecar settings of the mesh. The images here take precedence over the images in the entry of the
// default driver. They do not apply to other drivers.
type Settings struct {
	// SidecarClass names the default driver, for pods that do not name one.
	SidecarClass string `json:"sidecarClass,omitempty"`
	// SidecarImage is the image of the default driver's proxy and of the agent.
	SidecarImage string `json:"sidecarImage,omitempty"`
	// SidecarWindowsImage is the image of the proxy in pods of Windows, which get no sidecar: only drivers that read it
	// use it. Its JSON name is that of the released API.
	SidecarWindowsImage string `json:"SidecarImageWindowsImage,omitempty"`
	// InitContainerImage is the image of the init container that captures traffic. It contains no proxy. Other
	// drivers use it too if their entry has no image.
	InitContainerImage string `json:"initContainerImage,omitempty"`
	// EnablePrivilegedInitContainer makes the init container privileged, for nodes that refuse packet rules otherwise.
	EnablePrivilegedInitContainer bool `json:"enablePrivilegedInitContainer,omitempty"`
	// MaxDataPlaneConnections limits the connections of sidecars to the server of each driver in one control plane; 0
	// means the limit of the control plane, which is never exceeded.
	MaxDataPlaneConnections int `json:"maxDataPlaneConnections,omitempty"`
	// ConfigResyncInterval is the interval, as a duration of Go, in which a driver that polls sends its whole
	// configuration again; empty or 0 means never. The control plane sends changes at once, and needs none.
	ConfigResyncInterval string `json:"configResyncInterval,omitempty"`
	// DNS sets which names the agent of a pod answers. The default is model.DNSUnresolved.
	DNS model.DNSMode `json:"dns,omitempty"`
	// ReservedRanges are the ranges of the addresses of names without a Service, at most one of each family. The
	// default is 240.240.0.0/16 and fd6d:6573:6800::/112.
	ReservedRanges []netip.Prefix `json:"reservedRanges,omitempty"`
	// Bypass is what admission does with pods that bypass their sidecar. The default is BypassWarn.
	Bypass BypassMode `json:"bypass,omitempty"`
	// IPv6 is whether sidecars and gateways listen on IPv6. The control plane replaces the default, IPv6Auto.
	IPv6 IPv6Mode `json:"ipv6,omitempty"`
	// LogLevel is the proxy's log level: trace, debug, info, warning, error or critical.
	LogLevel string `json:"logLevel,omitempty"`
	// SidecarDrivers are the drivers that pods may name besides the default. Each driver is started and has its own
	// ProxyServerPort.
	SidecarDrivers []DriverSettings `json:"sidecarDrivers,omitempty"`
}

// DriverSettings are the settings of one driver.
type DriverSettings struct {
	SidecarName  string `json:"sidecarName,omitempty"`
	SidecarImage string `json:"sidecarImage,omitempty"`
	// SidecarWindowsImage is like that of Settings. The Helm values name it sidecarWindowsImage, which is read, too.
	SidecarWindowsImage string `json:"sidecarImageWindowsImage,omitempty"`
	InitContainerImage  string `json:"initContainerImage,omitempty"`
	// ProxyServerPort is the port of the control plane for sidecars; 0 means DefaultProxyServerPort.
	ProxyServerPort uint32 `json:"proxyServerPort,omitempty"`
	// SidecarDisabledMTLS asks for connections without mutual TLS. It has no effect: what a dialect protects stays
	// protected, and the control plane logs a warning.
	SidecarDisabledMTLS bool `json:"sidecarDisabledMTLS,omitempty"`
}

// UnmarshalJSON reads the entry. Unknown fields are errors.
func (d *DriverSettings) UnmarshalJSON(text []byte) error {
	type plain DriverSettings
	both := struct {
		*plain
		Value string `json:"sidecarWindowsImage"`
	}{plain: (*plain)(d)}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&both); err != nil {
		return err
	}
	d.SidecarWindowsImage = cmp.Or(d.SidecarWindowsImage, both.Value)
	return nil
}

// The environment variables of the program with what applies without a setting, as in Open Service Mesh.
const (
	DefaultClassVariable        = "OSM_DEFAULT_SIDECAR_CLASS"
	DefaultImageVariable        = "OSM_DEFAULT_SIDECAR_IMAGE"
	DefaultWindowsImageVariable = "OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE"
	DefaultInitImageVariable    = "OSM_DEFAULT_INIT_CONTAINER_IMAGE"
)

// DefaultProxyServerPort is the port of the control plane for sidecars if the entry of their driver has none.
const DefaultProxyServerPort = 15128

// Classes lists the distinct drivers with settings: the default driver first, then the others in order.
func (c *MeshConfig) Classes() []string {
	out := []string{c.Sidecar.SidecarClass}
	for _, d := range c.Sidecar.SidecarDrivers {
		if !slices.ContainsFunc(out, func(known string) bool { return strings.EqualFold(known, d.SidecarName) }) {
			out = append(out, d.SidecarName)
		}
	}
	return out
}

// WithDefault returns the configuration with another driver for pods that name none. It changes nothing for a class
// that the mesh does not have.
func (c *MeshConfig) WithDefault(class string) *MeshConfig {
	i := slices.IndexFunc(c.Classes(), func(known string) bool { return strings.EqualFold(known, class) })
	if i <= 0 {
		return c
	}
	out := *c
	out.Sidecar.SidecarClass, out.Sidecar.SidecarImage = c.Classes()[i], "" // that image is of another driver
	return &out
}

// Of returns the configuration of a sidecarClass; the empty class is the default.
func (c *MeshConfig) Of(class string) *MeshConfig {
	if class == "" || strings.EqualFold(class, c.Sidecar.SidecarClass) {
		return c
	}
	own := *c
	own.Sidecar.SidecarClass, own.Sidecar.SidecarImage, own.Sidecar.SidecarWindowsImage = class, "", ""
	if image := own.driver().InitContainerImage; image != "" {
		own.Sidecar.InitContainerImage = image
	}
	return &own
}

// GetSidecarClass returns the sidecarClass of the settings: the default driver, or the argument of Of. Without one, it
// is that of DefaultClassVariable.
func (c *MeshConfig) GetSidecarClass() string {
	return cmp.Or(c.Sidecar.SidecarClass, os.Getenv(DefaultClassVariable))
}

// GetSidecarImage returns the image of the proxy: for the default driver that of the mesh, otherwise that of the
// driver's entry, else that of DefaultImageVariable.
func (c *MeshConfig) GetSidecarImage() string {
	return cmp.Or(c.Sidecar.SidecarImage, c.driver().SidecarImage, os.Getenv(DefaultImageVariable))
}

// GetSidecarWindowsImage returns the image of the proxy for Windows, by the rules of GetSidecarImage.
func (c *MeshConfig) GetSidecarWindowsImage() string {
	return cmp.Or(c.Sidecar.SidecarWindowsImage, c.driver().SidecarWindowsImage, os.Getenv(DefaultWindowsImageVariable))
}

// GetInitContainerImage returns the image of the capture container: from the mesh, else from the driver's entry, else
// that of DefaultInitImageVariable, else the image of the proxy.
func (c *MeshConfig) GetInitContainerImage() string {
	return cmp.Or(c.Sidecar.InitContainerImage, c.driver().InitContainerImage, os.Getenv(DefaultInitImageVariable),
		c.GetSidecarImage())
}

// GetProxyServerPort returns the port of the control plane for sidecars.
func (c *MeshConfig) GetProxyServerPort() uint32 {
	if port := c.driver().ProxyServerPort; port != 0 {
		return port
	}
	return DefaultProxyServerPort
}

// GetSidecarLogLevel returns the log level of the proxy.
func (c *MeshConfig) GetSidecarLogLevel() string {
	if c.Sidecar.LogLevel == "" {
		return "error"
	}
	return c.Sidecar.LogLevel
}

// IsPrivilegedInitContainer returns whether the init container is privileged.
func (c *MeshConfig) IsPrivilegedInitContainer() bool { return c.Sidecar.EnablePrivilegedInitContainer }

// GetMaxDataPlaneConnections returns the limit of connections of sidecars to the server of the driver.
func (c *MeshConfig) GetMaxDataPlaneConnections() int { return c.Sidecar.MaxDataPlaneConnections }

// GetConfigResyncInterval returns the interval of repetitions. A text that is no duration means none.
func (c *MeshConfig) GetConfigResyncInterval() time.Duration {
	interval, err := time.ParseDuration(c.Sidecar.ConfigResyncInterval)
	if err != nil {
		return 0
	}
	return interval
}

// GetIPv6 returns whether the proxy listens on IPv6.
func (c *MeshConfig) GetIPv6() bool { return c.Sidecar.IPv6 != IPv6Disabled }

// DisablesMTLS reports whether the entry of the driver asks for connections without mutual TLS, which has no effect.
func (c *MeshConfig) DisablesMTLS() bool { return c.driver().SidecarDisabledMTLS }

func (c *MeshConfig) driver() DriverSettings {
	for _, d := range c.Sidecar.SidecarDrivers {
		if strings.EqualFold(d.SidecarName, c.GetSidecarClass()) {
			return d
		}
	}
	return DriverSettings{}
}
