package sidecar

import (
	"context"
	"encoding/json"
	"time"

	"anymesh.dev/anymesh/model"
)

// ClassAnnotation is the annotation of a pod or of its namespace that names the driver of the pod. The annotation of
// the pod takes precedence; without annotations the default applies. The injector sets it on the pod, so a sidecar
// keeps its driver until its pod is replaced.
const ClassAnnotation = "anymesh.dev/sidecarClass"

// Driver is implemented by sidecar drivers. Patch is called when a pod of its class is admitted, Start once when the
// control plane starts. A control plane can serve several drivers; each pod has one.
type Driver interface {
	// Patch sets Sidecar, or changes Pod, of the InjectorContext in ctx. It has no other effects: it writes nothing to
	// the cluster, so that a dry run gets the same response.
	Patch(ctx context.Context) error
	// Start starts the driver and returns its health probes. Nil always succeeds.
	Start(ctx context.Context) (Probes, error)
}

// Probes are the health probes of a driver. HealthProbes implements it.
type Probes interface {
	// GetHealthProbes returns the endpoints that tell the health.
	GetHealthProbes() HealthProbes
}

// Capabilities are implemented by all drivers. A driver without them supports no feature.
type Capabilities interface {
	// Supports lists the supported features of the model. A needed feature that is not supported becomes a finding, and
	// what is to be protected by one is not served.
	Supports() map[model.Feature]bool
}

// Renderer renders views into resources that the control plane delivers over xDS. Its methods are pure functions: equal
// views give equal bytes. OutboundRenderer is an optional extension for large meshes.
//
// If a driver that delivers configuration itself is a Renderer, the control plane reports the findings of Render.
type Renderer interface {
	Capabilities
	// Render returns the resources of a workload's sidecars, except for those of its destinations, and findings about
	// the parts of the view that it cannot render.
	Render(view *model.View) ([]Resource, []model.Finding)
	// RenderDestination returns the resources of one destination. All sidecars with the destination in their view share
	// them: they are rendered once for each change of the destination or its endpoints.
	RenderDestination(reach model.ResolvedDestination) []Resource
}

// MultipleStreams is implemented by renderers whose sidecars open several xDS streams: gRPC libraries open one for each
// service that they call. The control plane accepts a few of each pod otherwise.
type MultipleStreams interface {
	// StreamsOfSidecar is the largest number of open streams of a pod.
	StreamsOfSidecar() int
}

// HostNameType is the xDS type of the host names that the agent of a pod answers. The control plane serves them
// with the resources of a driver, and to pods whose driver delivers configuration itself on a port of their own.
const HostNameType = "type.googleapis.com/envoy.data.dns.v3.DnsTable.DnsVirtualDomain"

// EndpointAddressType is the xDS type of the addresses of the ready endpoints of a destination, by the name of the
// destination. Host names refer to them.
const EndpointAddressType = "type.googleapis.com/envoy.data.dns.v3.DnsTable.DnsEndpoint"

// SettingType is the xDS type of settings of a running sidecar, by name: a google.protobuf.StringValue. The agent of a
// pod subscribes to LogLevelSetting and sets the level: see Spec.LogLevelSocket. No proxy reads it.
const (
	SettingType     = "type.googleapis.com/google.protobuf.StringValue"
	LogLevelSetting = "log-level"
)

// AuthorityType is the xDS type of the one resource that tells agents the authority of the mesh: the certificate that
// signs, and the trusted roots.
const AuthorityType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.CommonTlsContext"

// Resource is a named part of the configuration of a sidecar.
type Resource struct {
	// Type is the xDS type URL, Name its name within the type.
	Type string
	Name string
	// Body is the encoded message.
	Body []byte
	// Origins are the fields that the resource comes from; a NACK of the resource is reported there.
	Origins []model.Origin
}

// MarshalJSON encodes the resource for display: a JSON body unchanged, any other body in base64.
func (r Resource) MarshalJSON() ([]byte, error) {
	var body any = r.Body
	if json.Valid(r.Body) {
		body = json.RawMessage(r.Body)
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Name string `json:"name"`
		Body any    `json:"body"`
	}{r.Type, r.Name, body})
}

// HealthProbes are the health probes of a sidecar driver, or of an application. A nil probe of a driver always
// succeeds.
type HealthProbes struct {
	Liveness, Readiness, Startup *HealthProbe
}

// GetHealthProbes implements Probes.
func (p HealthProbes) GetHealthProbes() HealthProbes { return p }

// HealthProbe is a health endpoint of a sidecar driver, or of an application.
type HealthProbe struct {
	// Path is the path of an HTTP probe.
	Path string
	// Port is a port on the loopback address of the control plane, or of the application's pod.
	Port int32
	// HTTP selects an HTTP GET of Path; a status from 200 to 399 is success. A probe of an application without HTTP and
	// TCPSocket uses HTTPS.
	HTTP bool
	// Timeout limits the probe; zero means one second.
	Timeout time.Duration
	// TCPSocket selects a TCP connection as the probe.
	TCPSocket bool
}
