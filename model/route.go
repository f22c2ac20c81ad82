package model

import "strings"

// Route forwards matching traffic.
type Route struct {
	Name string `json:"name"`
	// Port restricts the route to one port of its router; 0 means every port with its protocol.
	Port     uint16   `json:"port,omitempty"`
	Protocol Protocol `json:"protocol"`
	Match    Match    `json:"match,omitzero"`
	// Clients restricts the clients whose requests a gateway serves, by their addresses; others get status 403. Nil means
	// all. Only routes of services that a gateway selects by their host names may have it. See Workload.TrustedHops.
	Clients *ClientRanges `json:"clients,omitempty"`
	Action  Action        `json:"action"`
	Origin  Origin        `json:"origin,omitzero"`
}

// Match is a conjunction: each field that is set must match. The zero value matches everything.
type Match struct {
	// Hosts restricts gateways' routes to requests for one of these host names; "*.domain" is a suffix.
	Hosts   []string     `json:"hosts,omitempty"`
	Path    StringMatch  `json:"path,omitzero"`
	Method  string       `json:"method,omitempty"`
	Scheme  string       `json:"scheme,omitempty"`
	Headers []FieldMatch `json:"headers,omitempty"`
	Query   []FieldMatch `json:"query,omitempty"`
	// Predicate is a condition on the connection's metadata (l7mp).
	Predicate *Predicate `json:"predicate,omitempty"`
}

// StringMatch compares a string. The zero value matches everything. Comparison is bytewise and case-sensitive.
type StringMatch struct {
	Kind  MatchKind `json:"kind,omitempty"`
	Value string    `json:"value,omitempty"`
}

// MatchKind is a way to compare.
type MatchKind string

// The ways to compare. Regex is RE2 and must match the whole string. Prefix is plain: "/a" matches "/ab". PathPrefix is
// for paths, and compares whole elements, as in Gateway API: "/a" and "/a/" match "/a" and "/a/b", not "/ab".
const (
	Exact   MatchKind = "Exact"
	Prefix  MatchKind = "Prefix"
	Suffix  MatchKind = "Suffix"
	Regex   MatchKind = "Regex"
	Range   MatchKind = "Range"
	Present MatchKind = "Present"

	PathPrefix MatchKind = "PathPrefix"
)

// FieldMatch compares a header or a query parameter. Header names ignore case, and several header fields with one
// name are joined by commas. Parameter names are case-sensitive, and only the first parameter with a name is
// compared, without decoding.
type FieldMatch struct {
	Name  string    `json:"name"`
	Kind  MatchKind `json:"kind"`
	Value string    `json:"value,omitempty"`
	// Start and End limit a Range of decimal integers: Start <= value < End.
	Start int64 `json:"start,omitempty"`
	End   int64 `json:"end,omitempty"`
	// Invert negates the comparison; an absent field then counts as empty, so that it usually matches.
	Invert bool `json:"invert,omitempty"`
}

// Action is applied to matching traffic: it goes to weighted destinations, or to the routes of a service, or the client
// is redirected.
type Action struct {
	// Destinations share the traffic in proportion to their weights, which need not add up to 100. Those of inbound routes
	// have no workload.
	Destinations []WeightedDestination `json:"destinations,omitempty"`
	// Service applies the routes of a service, on a port of its router. Only inbound routes may set it (gateways).
	Service *ServiceTarget `json:"service,omitempty"`
	// Redirect is a response in place of forwarding.
	Redirect *Redirect `json:"redirect,omitempty"`
	// ForwardChain and Egress are the destinations that a stream passes in each direction (l7mp).
	ForwardChain []string `json:"forwardChain,omitempty"`
	ReverseChain []string `json:"reverseChain,omitempty"`
	// Convert is true if the destinations speak another protocol than the client (l7mp).
	Convert bool     `json:"convert,omitempty"`
	Rewrite *Rewrite `json:"rewrite,omitempty"`
	Retry   Retry    `json:"retry,omitzero"`
	// Timeouts limit the hop from the client's side.
	Timeouts Timeouts `json:"timeouts,omitzero"`
}

// WeightedDestination is a share of traffic. A target with weight 0 gets no traffic.
type WeightedDestination struct {
	Destination string `json:"destination"`
	Weight      uint32 `json:"weight"`
	Origin      Origin `json:"origin,omitzero"`
}

// ServiceTarget names a service and one of its router's ports; port 0 is the lowest port that takes requests.
type ServiceTarget struct {
	Service string `json:"service"`
	Port    uint16 `json:"port,omitempty"`
	Origin  Origin `json:"origin,omitzero"`
}

// Redirect is a response that sends the client to another URL, with the path and the query of the request.
type Redirect struct {
	Scheme string `json:"scheme"`
	// Host is the host name, with a port unless it is that of the scheme.
	Host string `json:"host"`
	// StatusCode is 301, 302, 303, 307 or 308.
	StatusCode uint16 `json:"statusCode"`
}

// Rewrite changes a request before it is forwarded. Empty fields change nothing.
type Rewrite struct {
	Host string `json:"host,omitempty"`
	// Path replaces the whole path; PathPrefix replaces the prefix that matched. For a match of kind PathPrefix, it
	// replaces whole elements: with "/" for "/a", "/a/b" becomes "/b", and "/a" becomes "/".
	Path       string  `json:"path,omitempty"`
	PathPrefix *string `json:"pathPrefix,omitempty"`
	// Headers replace the headers of the request with the same names.
	Headers []Header `json:"headers,omitempty"`
	// Metadata sets values in the connection's metadata (l7mp): path -> JSON value.
	Metadata []MetadataSet `json:"metadata,omitempty"`
}

// MetadataSet puts a constant at a slash-separated path of the connection's metadata.
type MetadataSet struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Retry retries failed attempts. Retries 0 means one attempt, regardless of Conditions.
type Retry struct {
	// Retries is the maximum number of retries.
	Retries uint32 `json:"retries,omitempty"`
	// PerTry limits each attempt; with zero only the request timeout applies.
	PerTry Duration `json:"perTry,omitzero"`
	// Pause limits each attempt to connect, and is the time before the next one (l7mp); 0 leaves both to the driver.
	Pause Duration `json:"pause,omitzero"`
	// Conditions lists the failures that are retried.
	Conditions []RetryCondition `json:"conditions,omitempty"`
	// StatusCodes are the HTTP status codes that are retried.
	StatusCodes []uint16 `json:"statusCodes,omitempty"`
	// Backoff is the longest time before the first retry. It doubles with each retry, up to ten times this time, and a
	// random part of it is waited for. 0 means the default of the driver.
	Backoff Duration `json:"backoff,omitzero"`
	// AvoidPreviousHosts prefers endpoints that this request has not used yet.
	AvoidPreviousHosts bool `json:"avoidPreviousHosts,omitempty"`
	// Origin is set if another object than that of the route defines the retries.
	Origin Origin `json:"origin,omitzero"`
}

// RetryCondition is a kind of failure that can be retried.
type RetryCondition string

// The retry conditions. RetryGRPC conditions compare the grpc-status trailer.
const (
	RetryConnectFailure        RetryCondition = "connect-failure"
	RetryRefusedStream         RetryCondition = "refused-stream"
	RetryReset                 RetryCondition = "reset"
	RetryDisconnect            RetryCondition = "disconnect"
	RetryGRPCCanceled          RetryCondition = "cancelled"
	RetryGRPCDeadlineExceeded  RetryCondition = "deadline-exceeded"
	RetryGRPCInternal          RetryCondition = "internal"
	RetryGRPCResourceExhausted RetryCondition = "resource-exhausted"
	RetryGRPCUnavailable       RetryCondition = "unavailable"
)

// Destination is a target of traffic: a port of a workload, or a fixed set of addresses.
// Its name never depends on a route, so that connections and health survive a change of routes.
type Destination struct {
	Key
	// Workload is the name of the target workload, if there is one.
	Workload  string    `json:"workload,omitempty"`
	Port      uint16    `json:"port,omitempty"`
	Protocol  Protocol  `json:"protocol"`
	Discovery Discovery `json:"discovery"`
	// Transport is the protocol below JSONSocket, and Header what is sent before the data; else they are empty.
	Transport Protocol      `json:"transport,omitempty"`
	Header    []HeaderField `json:"header,omitempty"`
	// Local are the parameters of a destination with DiscoverNone.
	Local LocalOptions `json:"local,omitzero"`
	// TLS is how clients connect to it; nil means without TLS.
	TLS     *ClientTLS `json:"tls,omitempty"`
	Balance Balance    `json:"balance,omitzero"`
	// SendTimeout limits the time in which an endpoint accepts nothing of what is sent to it; 0 means no limit. The
	// connection breaks then. Pauses of the sender and of the response do not count.
	SendTimeout Duration `json:"sendTimeout,omitzero"`
	// Limits are nil for a destination without them.
	Limits *ConnectionLimits `json:"limits,omitempty"`
	// HealthCheck and OutlierDetection are nil for a destination without them.
	HealthCheck      *HealthCheck      `json:"healthCheck,omitempty"`
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is the percentage of healthy endpoints below which all endpoints get traffic, healthy or not. With 0,
	// only healthy endpoints ever get any.
	PanicThreshold uint32 `json:"panicThreshold,omitempty"`
	Origin         Origin `json:"origin,omitzero"`
}

// Nowhere reports whether the destination can never have an endpoint. It keeps the share of targets that do not exist.
func (d Destination) Nowhere() bool {
	return d.Discovery.Kind == DiscoverInstances && d.Workload == "" && d.Discovery.Group == ""
}

// DiscoveryKind is the way in which the endpoints of a destination are discovered.
type DiscoveryKind string

const (
	// DiscoverDNS resolves a name and connects to one of its addresses, chosen for each connection.
	DiscoverDNS DiscoveryKind = "DNS"
	// DiscoverDNSEndpoints resolves a name and takes each of its addresses as an endpoint to balance over.
	DiscoverDNSEndpoints DiscoveryKind = "DNSEndpoints"
	// DiscoverInstances takes the endpoints of a group, which may be instances of several workloads.
	DiscoverInstances DiscoveryKind = "Instances"
	// DiscoverStatic uses the configured addresses.
	DiscoverStatic DiscoveryKind = "Static"
	// DiscoverNone is for destinations that the sidecar serves itself.
	DiscoverNone DiscoveryKind = "None"
)

// Discovery configures how the endpoints of a destination are discovered.
type Discovery struct {
	Kind DiscoveryKind `json:"kind"`
	// Hostname is a host name, without trailing dot, for the DNS kinds. See LookupName.
	Hostname string `json:"hostname,omitempty"`
	// Group selects the endpoints for DiscoverInstances by their Groups. If empty, the endpoints are the instances of
	// the destination's workload.
	Group string `json:"group,omitempty"`
	// Reason says why a destination that can never have an endpoint has none. Empty means that its target does not exist.
	Reason string `json:"reason,omitempty"`
	// Identities restrict the endpoints to those with one of these identities; none means all. For clients that may call
	// some of the instances of a service only.
	Identities []Identity `json:"identities,omitempty"`
	// Service is the name of a service with Pods if these are the endpoints. It need not be set if they are the instances
	// of the destination's workload.
	Service string `json:"service,omitempty"`
	// DNSName is the name under which a service registry lists the endpoints: the agents of clients answer it with the
	// addresses of the ready endpoints. It is for clients that connect to an endpoint directly.
	DNSName string `json:"dnsName,omitempty"`
	// Weights are those of the endpoints of some groups, for DiscoverInstances. The first group that an endpoint is in
	// counts.
	Weights []GroupWeight `json:"weights,omitempty"`
	// Addresses are hosts or socket files, for DiscoverStatic, and further endpoints for DiscoverInstances.
	Addresses []StaticAddress `json:"addresses,omitempty"`
}

// GroupWeight is the weight of the endpoints of a group.
type GroupWeight struct {
	Group string `json:"group"`
	// Weight is relative, from 1.
	Weight uint32 `json:"weight"`
}

// LookupName returns the name for DNS lookups of Hostname. NAME, NAME.NAMESPACE and NAME.NAMESPACE.svc are looked up in
// the search domains of the client's pod first, as in the pod. Other names are absolute, which saves the questions for
// search domains.
func (d Discovery) LookupName() string {
	if strings.Count(d.Hostname, ".") < 2 || strings.HasSuffix(d.Hostname, ".svc") {
		return d.Hostname
	}
	return d.Hostname + "."
}

// StaticAddress is a configured address: an IP address, a host name or a socket file.
type StaticAddress struct {
	Host   string `json:"host,omitempty"`
	Socket string `json:"socket,omitempty"`
	Weight uint32 `json:"weight,omitempty"`
}

// BalancePolicy is a load balancing policy.
type BalancePolicy string

// The balancing policies; the zero value is RoundRobin.
const (
	RoundRobin     BalancePolicy = ""
	ConsistentHash BalancePolicy = "ConsistentHash"
)

// Balance configures load balancing among the endpoints of a destination.
type Balance struct {
	Policy BalancePolicy `json:"policy,omitempty"`
	// HashKey is the metadata path whose value is hashed.
	HashKey string `json:"hashKey,omitempty"`
}
