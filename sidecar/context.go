package sidecar

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/model"
)

// contextKey is the type of the two keys below; they are compared by address.
type contextKey struct{ name string }

var (
	// InjectorCtxKey finds the *InjectorContext: ctx.Value(&InjectorCtxKey).
	InjectorCtxKey = contextKey{"injector"}
	// ControllerCtxKey finds the *ControllerContext: ctx.Value(&ControllerCtxKey).
	ControllerCtxKey = contextKey{"controller"}
)

// CommonName is the name of a sidecar: "<pod>.<service account>.<namespace>". It is informative; the identity is the
// SPIFFE ID.
type CommonName string

// InjectorContext is the input and output of Patch for one pod.
type InjectorContext struct {
	context.Context

	// Pod is the pod after admission. A driver may change it, but usually sets only Sidecar.
	Pod             *corev1.Pod
	MeshName        string
	OsmNamespace    string
	PodNamespace    string
	PodOS           string
	ProxyCommonName CommonName
	ProxyUUID       uuid.UUID
	Configurator    Configurator
	// KubeClient is read-only.
	KubeClient kubernetes.Interface
	// BootstrapCertificate has the bundle of roots with which the sidecar verifies the control plane, and the name that
	// its certificates have for people. It has neither a certificate nor a key: the agent makes keys in the pod, and gets
	// certificates for them. In Open Service Mesh, it is the certificate, with its key, of the sidecar's first connection
	// to the control plane.
	BootstrapCertificate *Certificate
	ContainerPullPolicy  corev1.PullPolicy
	// The lists of ports and CIDR ranges that are excluded from capture, or that limit it: those of the annotations of the
	// pod and of MeshConfig, joined. They are informative: the injector adds the capture.
	InboundPortExclusionList     []int
	OutboundPortExclusionList    []int
	OutboundIPRangeInclusionList []string
	OutboundIPRangeExclusionList []string
	// OriginalHealthProbes are the probes of the application with an HTTP request or a TCP connection to a port of the
	// pod. If several containers have a probe of a kind, it is that of the last one. They are informative: the agent
	// serves those of captured ports.
	OriginalHealthProbes HealthProbes
	// DryRun is true if the pod will not be created.
	DryRun bool

	// SidecarClass names the driver of the pod; empty means the default. Configurator has the settings of the class.
	SidecarClass string
	// Workload is the workload that the pod is an instance of.
	Workload model.Workload
	// Node is the xDS node ID of the sidecar.
	Node string
	// SDSSocketPath is the path of the Unix domain socket in the sidecar container where a server of the secret discovery
	// service may listen; empty if the nodes have none.
	SDSSocketPath string
	// Proxy has the settings of the proxy of this pod.
	Proxy ProxySettings
	// Sidecar is the output of the driver.
	Sidecar *Spec
}

// Spec is the specification of a driver's sidecar in a pod. The injector adds the agent, certificates, volumes and
// capture.
type Spec struct {
	// Container has the name, image, environment, ports and resources of the sidecar; its command is set by the
	// injector.
	Container corev1.Container
	// Command starts the sidecar when the certificates exist. The agent supervises the process. Empty if the application
	// is its own proxy ("proxyless"), as gRPC libraries with xDS are: nothing is captured then, the agent answers no DNS
	// questions, and each container of the application gets ApplicationEnv and, to read, CertificatesDir.
	Command []string
	// ApplicationEnv are variables for the containers of a proxyless application. A container keeps its own.
	ApplicationEnv []corev1.EnvVar
	// Files are created in FilesDir before each start of the sidecar. Each has at most 120 KiB. Their content is in the
	// environment of the container: it cannot change after admission, and everybody who can read the pod can read it.
	Files map[string][]byte
	// ReadyURL returns 200 when the sidecar has its configuration and can serve traffic.
	ReadyURL string
	// HealthURL returns gauges in the text format of Prometheus, one for each listener whose health check decides the
	// readiness of the pod (model.ListenerHealthCheck). A pod with a gauge of value 0 is not ready. Empty if the sidecar
	// does not check its listeners.
	HealthURL string
	// MetricsURL returns the sidecar's Prometheus metrics; empty if it has none.
	MetricsURL string
	// AccessLog is the name of the file into which the sidecar writes access logs that go to files; empty if it writes
	// none. The agent makes it a link to the file of the workload, and limits its size: it renames the file and sends the
	// signal SIGUSR1, on which the sidecar must open the file again.
	AccessLog string
	// Drain is run in the container of the sidecar when the termination of the pod starts, while the application
	// still serves. It must make clients use other pods for new requests without failing requests. Empty if the
	// sidecar does not support it.
	Drain []string
	// RelaySocket is the Unix domain socket on which the agent relays the ADS stream of the sidecar to its xDS server,
	// RelayAddress with host:port. Secrets (envoy.extensions.transport_sockets.tls.v3.Secret) then get the content
	// of the files that they name. Empty if the sidecar connects to the server itself.
	RelaySocket, RelayAddress string
	// LogLevelSocket is the Unix domain socket on which the sidecar sets its log level, as the admin interface of Envoy
	// does: on POST /logging?level=LEVEL, with trace, debug, info, warning, error, critical or off. The agent sends it
	// when the sidecar has started, and when the level changes; it needs RelaySocket. Empty if the level cannot change.
	LogLevelSocket string
	// ConfigArgument is the option of Command that takes configuration as JSON, which is merged into that of Files. The
	// agent adds the content of ProxySettings.ConfigFiles to it. Empty if the sidecar does not support it.
	ConfigArgument string
}

// Proxyless reports whether the application is its own proxy.
func (s *Spec) Proxyless() bool { return len(s.Command) == 0 }

const (
	// FilesDir is the directory of the files of a Spec in the sidecar container.
	FilesDir = "/etc/anymesh"
	// FileVariable begins the names of environment variables with the content of Files.
	FileVariable = "ANYMESH_FILE_"
	// CertificatesDir contains tls.crt, tls.key and ca.crt, which are replaced together at renewal. It is in memory.
	CertificatesDir = "/run/anymesh"
	// AccessLogFile is a name for Spec.AccessLog.
	AccessLogFile = CertificatesDir + "/access.log"
	// UID is the user ID of sidecars. Their traffic is not captured.
	UID = 1337
)

// The ports of a pod with a sidecar.
const (
	// InboundPort accepts captured inbound connections of the pod.
	InboundPort = 15000
	// OutboundPort accepts captured outbound connections of the application.
	OutboundPort = 15001
	// AgentPort serves probes, readiness and metrics.
	AgentPort = 15020
	// DNSPort is the port of the agent's DNS server on the loopback addresses; DNS questions are redirected to it.
	DNSPort = 15053
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
	// ProxyServiceCert is the certificate of the servers for sidecars at the start, without its key. It is replaced
	// before it expires: CertManager.Listen always has the current one. In Open Service Mesh, it has its key, and serves
	// until the control plane restarts.
	ProxyServiceCert *Certificate
	OsmNamespace     string
	KubeConfig       *rest.Config
	Configurator     Configurator
	// MeshCatalog returns the current views, MsgBroker notifies of their changes, and CertManager identifies sidecars,
	// for drivers that deliver configuration themselves. In Open Service Mesh, MeshCatalog has the policies from which
	// each driver computes its own, MsgBroker notifies of changes of objects, and CertManager issues certificates with
	// their keys.
	MeshCatalog Catalog
	MsgBroker   *Broker
	CertManager CertManager
	// Deliver makes the control plane listen on ProxyServerPort, render the views of the workloads that have pods of
	// the class, and push changes over xDS. If a driver does not call it in Start, the driver may listen on the port
	// itself, with CertManager.
	Deliver func(Renderer)
	// Lead sets a function that the control plane runs while it is the leader, until the context ends. It is for drivers
	// that connect to proxies without an agent. Nil if there are no such pods of the driver: see Catalog.WithoutAgent.
	Lead func(func(context.Context))
	// Proxies lists the proxies without an agent that the driver configures, with their state. Start may set it.
	Proxies func() []Proxy
	// Report replaces the findings about one subject, for example a proxy without an agent. Without findings, those
	// before are removed.
	Report func(subject string, findings []model.Finding)
	// DebugHandlers are served by the debug server, with its authorization. Start adds handlers. Two drivers with the
	// same path are an error. "anymesh proxy config" requests /debug/<class>?mesh=M&workload=W, which returns the
	// rendered resources unless Start adds a handler.
	DebugHandlers map[string]http.Handler
	// CancelFunc ends the context. The control plane calls it when it stops.
	CancelFunc func()
	// Stop is closed when the control plane stops.
	Stop chan struct{}

	// SidecarClass names the driver to start; empty means the default. Configurator and ProxyServerPort are those of
	// the class.
	SidecarClass string
}

// Proxy is the state of a proxy without an agent that a driver configures.
type Proxy struct {
	Workload model.Key
	Pod      model.Instance
	// Address is that of the API of the proxy.
	Address string
	// Since is when the driver began to configure the proxy.
	Since time.Time
	// Listeners and Clusters are the numbers of those that the proxy should have.
	Listeners, Clusters int
	// Synced is false until the proxy had its configuration once, and Error is why it does not have it now.
	Synced bool
	Error  string
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

// Catalog returns the current state of the mesh for a driver, without what the driver cannot protect as asked for, and
// with the names of peers in all trust domains: see model.View.Protect and model.View.InAllTrustDomains. The Broker of
// the driver notifies of changes. Nothing is found before its first Changes. It is safe for concurrent use, and callers
// must not modify what it returns.
type Catalog interface {
	// View returns the current view of a workload.
	View(workload model.Key) (*model.View, bool)
	// ResolvedDestination returns a destination of a workload's view with its current endpoints.
	ResolvedDestination(workload, destination model.Key) (model.ResolvedDestination, bool)
	// Workloads lists the workloads that have sidecars of the driver, in order. For the default driver, these are all
	// workloads.
	Workloads() []model.Key
	// WithoutAgent lists the pods of a workload whose proxy is for this driver and has no agent: it gets configuration
	// only if the driver connects to it. These are the pods of ControllerContext.Lead.
	WithoutAgent(workload model.Key) []model.Endpoint
}

// CertManager serves sidecars with the certificates of the mesh.
type CertManager interface {
	// Listen listens on ProxyServerPort for TLS connections of sidecars, with the certificate of the control plane and
	// client certificates that are verified. It closes a connection when the certificate of its client expires, and
	// limits their number. ALPN offers h2 and http/1.1. The error is that of the listener.
	Listen(ctx context.Context) (net.Listener, error)
	// Authorize returns the workload of the sidecar with a verified client certificate. It waits up to 3 s for the pod
	// of the sidecar. The error tells why the sidecar is refused: its pod is no instance of a workload, or it has another
	// driver. Both can change: call it for each request. The certificate is the identity of a sidecar; nothing else in a
	// request is.
	Authorize(ctx context.Context, certificate *x509.Certificate) (workload model.Key, err error)
}

// parent returns the wrapped context, or a background context if there is none, as in the examples of the contract.
func parent(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// The names of Catalog and CertManager in the contract of osm-edge.
type (
	// MeshCataloger is Catalog.
	MeshCataloger = Catalog
	// Manager is CertManager.
	Manager = CertManager
)
