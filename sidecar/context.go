package sidecar

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/model"
)

// contextKey is the type of the two keys below; only their addresses count.
type contextKey struct{ name string }

var (
	// InjectorCtxKey finds the *InjectorContext: ctx.Value(&InjectorCtxKey).
	InjectorCtxKey = contextKey{"injector"}
	// ControllerCtxKey finds the *ControllerContext: ctx.Value(&ControllerCtxKey).
	ControllerCtxKey = contextKey{"controller"}
)

// CommonName is the name of a sidecar: "<pod>.<service account>.<namespace>". It is informative; identity is the SPIFFE
// id.
type CommonName string

// InjectorContext is the input and output of Patch for one pod.
type InjectorContext struct {
	context.Context

	// Pod is the pod as it will be; a driver may change it, but usually fills in Sidecar.
	Pod             *corev1.Pod
	MeshName        string
	OsmNamespace    string
	PodNamespace    string
	PodOS           string
	ProxyCommonName CommonName
	ProxyUUID       uuid.UUID
	Configurator    Configurator
	// KubeClient reads; Patch writes nothing.
	KubeClient kubernetes.Interface
	// BootstrapCertificate is the PEM bundle by which the sidecar trusts the control plane. There is no key in it: keys
	// are made in the pod.
	BootstrapCertificate         []byte
	ContainerPullPolicy          corev1.PullPolicy
	InboundPortExclusionList     []int
	OutboundPortExclusionList    []int
	OutboundIPRangeInclusionList []string
	OutboundIPRangeExclusionList []string
	OriginalHealthProbes         HealthProbes
	// DryRun is true if the pod will not be created.
	DryRun bool

	// SidecarClass names the driver of the pod, which Patch calls; empty is the default. Configurator is that of the
	// class.
	SidecarClass string
	// Workload is the workload that the pod is an instance of.
	Workload model.Workload
	// Node is the xDS node id of the sidecar.
	Node string
	// Sidecar is the output of the driver.
	Sidecar *Spec
}

// Spec is the specification of a driver's sidecar in a pod. The injector adds the agent, certificates, volumes and
// capture.
type Spec struct {
	// Container has the name, image, environment, ports and resources of the sidecar; its command is set by the
	// injector.
	Container corev1.Container
	// Command starts the sidecar once certificates are there; the agent supervises it.
	Command []string
	// Files are placed, read only, in FilesDir.
	Files map[string][]byte
	// ReadyURL answers 200 once the sidecar has its configuration and can take traffic.
	ReadyURL string
	// MetricsURL gives the sidecar's Prometheus metrics; empty if it has none.
	MetricsURL string
	// Drain is run in the sidecar's container when the termination of the pod starts, while the application still
	// serves: it should make callers take their next calls elsewhere, and fail none. Empty if there is no such thing.
	Drain []string
}

const (
	// FilesDir is where the files of a Spec are found in the sidecar container.
	FilesDir = "/etc/anymesh"
	// CertificatesDir holds tls.crt, tls.key and ca.crt, replaced together as they are renewed. It is memory.
	CertificatesDir = "/run/anymesh"
	// UID is the user that sidecars run as; its traffic is never captured.
	UID = 1337
)

// The ports of a pod with a sidecar.
const (
	// InboundPort takes captured connections that arrive at the pod.
	InboundPort = 15000
	// OutboundPort takes captured connections that the application opens.
	OutboundPort = 15001
	// AgentPort serves probes, readiness and metrics.
	AgentPort = 15020
)

// Value finds the context itself under InjectorCtxKey, and anything else in the context that it wraps.
func (c *InjectorContext) Value(key any) any {
	if key == &InjectorCtxKey {
		return c
	}
	return parent(c.Context).Value(key)
}

// Deadline is that of the context it wraps.
func (c *InjectorContext) Deadline() (time.Time, bool) { return parent(c.Context).Deadline() }

// Done is that of the context it wraps.
func (c *InjectorContext) Done() <-chan struct{} { return parent(c.Context).Done() }

// Err is that of the context it wraps.
func (c *InjectorContext) Err() error { return parent(c.Context).Err() }

// ControllerContext is the input of Start.
type ControllerContext struct {
	context.Context

	ProxyServerPort uint32
	OsmNamespace    string
	KubeConfig      *rest.Config
	Configurator    Configurator
	// MeshCatalog gives the current views and their changes, for drivers that deliver configuration themselves.
	MeshCatalog Catalog
	// Deliver makes the control plane listen on ProxyServerPort, render the views of the workloads that have pods of
	// the class, and push what changed over xDS. A driver that does not call it in Start has the port for itself.
	Deliver func(Renderer)
	// DebugHandlers are served by the debug server, behind its authorization; Start adds to them. Two drivers with one
	// path are an error. "anymesh proxy config" asks for /debug/<class>?mesh=M&workload=W, which lists what is rendered
	// unless Start adds it.
	DebugHandlers map[string]http.Handler
	CancelFunc    func()
	Stop          chan struct{}

	// SidecarClass names the driver that Start starts; empty is the default. Configurator and ProxyServerPort are those
	// of the class.
	SidecarClass string
}

// Value finds the context itself under ControllerCtxKey, and anything else in the context that it wraps.
func (c *ControllerContext) Value(key any) any {
	if key == &ControllerCtxKey {
		return c
	}
	return parent(c.Context).Value(key)
}

// Deadline is that of the context it wraps.
func (c *ControllerContext) Deadline() (time.Time, bool) { return parent(c.Context).Deadline() }

// Done is that of the context it wraps.
func (c *ControllerContext) Done() <-chan struct{} { return parent(c.Context).Done() }

// Err is that of the context it wraps.
func (c *ControllerContext) Err() error { return parent(c.Context).Err() }

// Catalog returns the current state of the mesh.
type Catalog interface {
	// View returns the current view of a workload.
	View(workload model.Key) (*model.View, bool)
	// ResolvedDestination returns a destination of a view with its current endpoints.
	ResolvedDestination(destination model.Key) (model.ResolvedDestination, bool)
	// Workloads lists all workloads.
	Workloads() []model.Key
}

// parent lets a context be used without one to wrap, as the contract's examples do.
func parent(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
