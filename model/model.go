package model

import (
	"net/netip"
	"slices"
)

// Key identifies an item within a mesh. Items of different kinds may have the same key.
type Key struct {
	Mesh string `json:"mesh"`
	Name string `json:"name"`
}

// String returns "mesh/name".
func (k Key) String() string { return k.Mesh + "/" + k.Name }

// Model contains the meshes that the objects of all clusters describe. Call Canonical before comparing or hashing a
// model.
type Model struct {
	Meshes                []Mesh                `json:"meshes,omitempty"`
	Workloads             []Workload            `json:"workloads,omitempty"`
	Services              []Service             `json:"services,omitempty"`
	Routers               []Router              `json:"routers,omitempty"`
	Destinations          []Destination         `json:"destinations,omitempty"`
	Endpoints             []Endpoint            `json:"endpoints,omitempty"`
	ServiceGroups         []ServiceGroup        `json:"serviceGroups,omitempty"`
	AuthorizationPolicies []AuthorizationPolicy `json:"authorizationPolicies,omitempty"`
}

// Egress is the rule for traffic to destinations that are not declared as backends.
type Egress string

const (
	// EgressDeny resets connections to undeclared ports and answers 404 for undeclared hosts on declared HTTP ports.
	EgressDeny Egress = "Deny"
	// EgressAllow forwards undeclared traffic unchanged to its original destination.
	EgressAllow Egress = "Allow"
)

// AddressFamily is the IP family of DNS lookups and of connections to the application.
type AddressFamily string

const (
	// AnyFamily prefers IPv6 addresses, falls back to IPv4, and connects to the application over IPv4.
	AnyFamily AddressFamily = ""
	// IPv4Only ignores IPv6 answers.
	IPv4Only AddressFamily = "IPv4"
	// IPv6Only ignores IPv4 answers and connects to the application over IPv6.
	IPv6Only AddressFamily = "IPv6"
)

// Mesh is a scope for names, identities and defaults.
type Mesh struct {
	Name        string `json:"name"`
	TrustDomain string `json:"trustDomain,omitempty"`
	// TrustDomainAliases are other trust domains, whose roots are trusted while the root is rotated, sorted. An identity
	// in one of them is that of the same account in TrustDomain.
	TrustDomainAliases []string `json:"trustDomainAliases,omitempty"`
	Egress             Egress   `json:"egress"`
	// EgressNames are TLS server names ("*.domain" is a suffix) that workloads reach on port 443 even if Egress denies
	// them. The sidecar resolves the name itself; the original destination address has no effect.
	EgressNames []string      `json:"egressNames,omitempty"`
	Family      AddressFamily `json:"family,omitempty"`
	// AnyAddress makes a stream that is alone on its port take connections to every address. Otherwise, it takes those to
	// its own addresses if it has some.
	AnyAddress bool `json:"anyAddress,omitempty"`
	// SidecarLogLevel is the log level of sidecars, which does not change what they do: trace, debug, info, warning,
	// error, critical or off. Empty means that of the control plane.
	SidecarLogLevel string `json:"sidecarLogLevel,omitempty"`
	Origin          Origin `json:"origin,omitzero"`
}

// Role distinguishes sidecars from standalone gateways.
type Role string

const (
	// RoleSidecar proxies inbound and outbound traffic of one application.
	RoleSidecar Role = "Sidecar"
	// RoleGateway has no application: it routes inbound traffic to services.
	RoleGateway Role = "Gateway"
)

// Workload is a set of equal instances of an application or gateway, with its listeners and backends.
type Workload struct {
	Key
	Role      Role       `json:"role"`
	Listeners []Listener `json:"listeners,omitempty"`
	// TrustedHops is the number of proxies in front of a gateway whose X-Forwarded-For and X-Forwarded-Proto it keeps and
	// believes. With 0, a client cannot choose the scheme, and the last address in X-Forwarded-For is its own.
	TrustedHops uint32 `json:"trustedHops,omitempty"`
	// Backends are the services that this workload may reach, by name.
	Backends []Backend `json:"backends,omitempty"`
	// ServiceGroups are groups of further services that it may reach, in order of precedence.
	ServiceGroups []GroupReference `json:"serviceGroups,omitempty"`
	// BackendsAll lets the workload reach every service of its mesh (SMI permissive mode, l7mp).
	BackendsAll bool `json:"backendsAll,omitempty"`
	// External are private services outside of the mesh that it reaches besides. All others take precedence.
	External []Backend `json:"external,omitempty"`
	// EgressRules are what else it reaches outside of the mesh. They have no effect if Mesh.Egress allows everything.
	EgressRules []EgressRule `json:"egressRules,omitempty"`
	// ClientGroups are the groups that it belongs to as a client, for which services may have variants.
	ClientGroups []string `json:"clientGroups,omitempty"`
	// Authorize denies clients that no AuthorizationPolicy of the workload allows. Without it, policies have no effect.
	Authorize bool `json:"authorize,omitempty"`
	// ClientPolicy applies to services without a client policy of their own.
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
	// AccessLog is nil if the workload's sidecars write none.
	AccessLog *AccessLog `json:"accessLog,omitempty"`
	// NodeID is the xDS node id of the workload's sidecars.
	NodeID string `json:"nodeID,omitempty"`
	// DNS is which names the agents of the instances answer. Empty means DNSUnresolved.
	DNS DNSMode `json:"dns,omitempty"`
	// StatsTags are tags of every metric of the workload's sidecars.
	StatsTags []StatsTag `json:"statsTags,omitempty"`
	Origin    Origin     `json:"origin,omitzero"`
}

// StatsTag is a tag (a label, in Prometheus' words) with a fixed value.
type StatsTag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Backend is a service that a workload may reach.
type Backend struct {
	Service string `json:"service"`
	// ClientPolicy takes precedence over that of the workload.
	ClientPolicy *ClientPolicy `json:"clientPolicy,omitempty"`
	// Path is the field that names the service. Object is its object; nil means that of the workload. Content hashes
	// ignore both, as an Origin. Backends have no Origin, because workloads may have thousands.
	Path   string     `json:"path,omitempty"`
	Object *ObjectRef `json:"object,omitempty"`
}

// BackendOrigin returns the origin of a backend of the workload.
func (w *Workload) BackendOrigin(b Backend) Origin {
	if b.Object != nil {
		return NewOrigin(*b.Object).At(b.Path)
	}
	return w.Origin.At(b.Path)
}

// Listener is a socket on which a workload accepts connections.
type Listener struct {
	Port     uint16   `json:"port,omitempty"`
	Protocol Protocol `json:"protocol"`
	// Socket is the file name of a unix listener, which has no port.
	Socket string `json:"socket,omitempty"`
	// Transport is the protocol below JSONSocket; else empty.
	Transport Protocol `json:"transport,omitempty"`
	// Peer restricts a UDP listener to one remote address and port; the zero value allows every peer.
	Peer netip.AddrPort `json:"peer,omitzero"`
	// Router names the router for inbound traffic. If empty, traffic goes to the application on the same port; that of a
	// gateway goes to the services that it reaches on this port, by their host names.
	Router string `json:"router,omitempty"`
	// TLS is nil for a listener that serves no TLS: then it forwards TLS of clients unchanged, if its protocol is TCP.
	TLS *ServerTLS `json:"tls,omitempty"`
	// CircuitBreaker limits what the listener forwards; nil means no limits.
	CircuitBreaker *CircuitBreaker `json:"circuitBreaker,omitempty"`
	// RequestsPerConnection limits the requests on a connection to the application, which is closed then; 0 means no
	// limit.
	RequestsPerConnection uint32 `json:"requestsPerConnection,omitempty"`
	// ConnectionRate limits the connections in a time; nil means no limit. RequestRates limit requests, in this order.
	ConnectionRate *RateLimit    `json:"connectionRate,omitempty"`
	RequestRates   []RequestRate `json:"requestRates,omitempty"`
	// HealthCheck is how the gateway checks this listener; nil means that it does not.
	HealthCheck *ListenerHealthCheck `json:"healthCheck,omitempty"`
	Timeouts    Timeouts             `json:"timeouts,omitzero"`
	// TrackSessions is how long the sidecar lists sessions that have ended. EndSessions is true if sessions end with the
	// listener, and false if they go on without it.
	TrackSessions Duration `json:"trackSessions,omitzero"`
	EndSessions   bool     `json:"endSessions,omitempty"`
	Origin        Origin   `json:"origin,omitzero"`
}

// Datagrams reports whether the listener has a UDP socket.
func (l *Listener) Datagrams() bool { return l.Protocol == UDP || l.Transport == UDP }

// AnyHost is the name of the External service for requests whose host is that of no other service on the port.
const AnyHost = "*"

// Service is a host name that clients connect to.
type Service struct {
	// Key.Name is the host name, without port, unless the service has Hosts.
	Key
	// Hosts are the host names in place of Key.Name.
	Hosts []string `json:"hosts,omitempty"`
	// Private is true for a service that only workloads reach which name it, not those that reach all services. Agents do
	// not answer its names.
	Private bool `json:"private,omitempty"`
	// Aliases are further host names with the same meaning.
	Aliases []string `json:"aliases,omitempty"`
	// GroupAliases are further host names for some clients; nil for none.
	GroupAliases *GroupAliases `json:"groupAliases,omitempty"`
	// Addresses are virtual addresses that identify the service for protocols without a host name: the cluster IPs of
	// the Service with this name.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Headless is true if the Kubernetes Service with this name is headless and selects pods, and the service has a port
	// for streams. Pods are its pods, whose addresses clients know.
	Headless bool         `json:"headless,omitempty"`
	Pods     []ServicePod `json:"pods,omitempty"`
	// Reserved are the reserved addresses of a service without Addresses, at most one of each family. Clients know
	// them only from the DNS server of their agent.
	Reserved []netip.Addr `json:"reserved,omitempty"`
	// External is true if clients are outside of the cluster: they resolve the name themselves, and may name any port
	// besides it, because a load balancer maps ports.
	External bool `json:"external,omitempty"`
	// Unresolved is true if the DNS of the cluster does not know the name.
	Unresolved bool `json:"unresolved,omitempty"`
	// NeedsAddress is true if only a reserved address tells the connections to the service from those that the mesh
	// denies: the service is a stream to a server outside of the cluster.
	NeedsAddress bool `json:"needsAddress,omitempty"`
	// Router names the service's router. Without one, the response to every request is 404.
	Router string `json:"router,omitempty"`
	// Variants are routers for some clients; the first with a group of the client applies.
	Variants []ServiceVariant `json:"variants,omitempty"`
	Origin   Origin           `json:"origin,omitzero"`
}

// HostNames lists all host names of the service.
func (s *Service) HostNames() []string {
	if len(s.Hosts) > 0 {
		return slices.Concat(s.Hosts, s.Aliases)
	}
	return append([]string{s.Name}, s.Aliases...)
}

// Router is an ordered list of routes on the ports of a service.
type Router struct {
	Key
	Ports []RouterPort `json:"ports,omitempty"`
	// Routes are matched in this order; the first match wins.
	Routes []Route `json:"routes,omitempty"`
	Origin Origin  `json:"origin,omitzero"`
}

// RouterPort is a port of a service, with its protocol.
type RouterPort struct {
	Port     uint16   `json:"port"`
	Protocol Protocol `json:"protocol"`
	Origin   Origin   `json:"origin,omitzero"`
}

// Endpoint is one running instance of a workload, in any cluster.
type Endpoint struct {
	// Workload is the workload that it is an instance of.
	Workload Key `json:"workload"`
	// Instance identifies the pod by name, namespace and UID.
	Instance Instance `json:"instance"`
	// Addresses, first the preferred one; at most one of each family.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Port is in place of the port of the destination; 0 means that of the destination.
	Port     uint16   `json:"port,omitempty"`
	Identity Identity `json:"identity,omitzero"`
	Ready    bool     `json:"ready"`
	// Groups are the endpoint groups of this endpoint besides its workload, in canonical order. Dialects derive them
	// from service registries and label selectors.
	Groups []string `json:"groups,omitempty"`
	// Weight is the relative weight of this endpoint, from 1; 0 means 1.
	Weight   uint32   `json:"weight,omitempty"`
	Locality Locality `json:"locality,omitzero"`
	// SidecarClass is the driver of a pod with a proxy but no agent: the driver connects to the proxy. Empty for others.
	SidecarClass string `json:"sidecarClass,omitempty"`
}

// Instance is a running instance of a workload, usually a pod.
type Instance struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID is empty for an endpoint that gets no configuration as an instance of its workload.
	UID string `json:"uid"`
}

// Locality is where an endpoint runs; the zero value is the home cluster.
type Locality struct {
	Cluster string `json:"cluster,omitempty"`
	Zone    string `json:"zone,omitempty"`
}
