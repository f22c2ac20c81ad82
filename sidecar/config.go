package sidecar

import "strings"

// Configurator gives the mesh-wide settings that drivers need.
type Configurator interface {
	GetSidecarClass() string
	GetSidecarImage() string
	GetInitContainerImage() string
	GetProxyServerPort() uint32
	GetSidecarLogLevel() string
}

// MeshConfig is the mesh-wide configuration: the JSON document in the ConfigMap preset-mesh-config.
type MeshConfig struct {
	Sidecar Settings `json:"sidecar"`
}

// Settings are the sidecar settings of the mesh. Those at the top take precedence over those of the class's driver.
type Settings struct {
	// SidecarClass names the driver that is used.
	SidecarClass string `json:"sidecarClass,omitempty"`
	// SidecarImage is the image of the proxy; it holds the agent as well.
	SidecarImage string `json:"sidecarImage,omitempty"`
	// InitContainerImage is the image of the init container that captures traffic.
	InitContainerImage string `json:"initContainerImage,omitempty"`
	// LogLevel is the proxy's log level: trace, debug, info, warning, error or critical.
	LogLevel string `json:"logLevel,omitempty"`
	// SidecarDrivers are the drivers that there are settings for.
	SidecarDrivers []DriverSettings `json:"sidecarDrivers,omitempty"`
}

// DriverSettings are the settings of one driver.
type DriverSettings struct {
	SidecarName        string `json:"sidecarName,omitempty"`
	SidecarImage       string `json:"sidecarImage,omitempty"`
	InitContainerImage string `json:"initContainerImage,omitempty"`
	// ProxyServerPort is the port on which sidecars reach the control plane; 0 means DefaultProxyServerPort.
	ProxyServerPort uint32 `json:"proxyServerPort,omitempty"`
}

const (
	// DefaultSidecarClass is the driver of a mesh that names none.
	DefaultSidecarClass = "envoy"
	// DefaultProxyServerPort is where sidecars reach the control plane unless settings say otherwise.
	DefaultProxyServerPort = 15128
)

// GetSidecarClass names the driver that is used.
func (c *MeshConfig) GetSidecarClass() string {
	if c.Sidecar.SidecarClass == "" {
		return DefaultSidecarClass
	}
	return c.Sidecar.SidecarClass
}

// GetSidecarImage gives the image of the proxy: that of the mesh, else that of its driver.
func (c *MeshConfig) GetSidecarImage() string {
	if c.Sidecar.SidecarImage != "" {
		return c.Sidecar.SidecarImage
	}
	return c.driver().SidecarImage
}

// GetInitContainerImage gives the image of the capturing container: that of the mesh, of its driver, else the proxy's.
func (c *MeshConfig) GetInitContainerImage() string {
	for _, image := range []string{c.Sidecar.InitContainerImage, c.driver().InitContainerImage} {
		if image != "" {
			return image
		}
	}
	return c.GetSidecarImage()
}

// GetProxyServerPort gives the port on which sidecars reach the control plane.
func (c *MeshConfig) GetProxyServerPort() uint32 {
	if port := c.driver().ProxyServerPort; port != 0 {
		return port
	}
	return DefaultProxyServerPort
}

// GetSidecarLogLevel gives the proxy's log level.
func (c *MeshConfig) GetSidecarLogLevel() string {
	if c.Sidecar.LogLevel == "" {
		return "error"
	}
	return c.Sidecar.LogLevel
}

func (c *MeshConfig) driver() DriverSettings {
	for _, d := range c.Sidecar.SidecarDrivers {
		if strings.EqualFold(d.SidecarName, c.GetSidecarClass()) {
			return d
		}
	}
	return DriverSettings{}
}
