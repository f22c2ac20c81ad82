package model

// Route says where matching traffic goes.
type Route struct {
	Name string `json:"name"`
	// Port restricts the route to one port of its router; 0 means every port whose protocol it speaks.
	Port     uint16   `json:"port,omitempty"`
	Protocol Protocol `json:"protocol"`
	Match    Match    `json:"match,omitzero"`
	Action   Action   `json:"action"`
	Origin   Origin   `json:"origin,omitzero"`
}

// Match is a conjunction: each field that is set must hold. The zero value matches everything.
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

// StringMatch compares a string. The zero value matches everything. Comparison is of bytes, case counts.
type StringMatch struct {
	Kind  MatchKind `json:"kind,omitempty"`
	Value string    `json:"value,omitempty"`
}

// MatchKind is a way to compare.
type MatchKind string

// The ways to compare. Regex is RE2 and must match the whole string. Prefix is plain: "/a" matches "/ab".
const (
	Exact   MatchKind = "Exact"
	Prefix  MatchKind = "Prefix"
	Suffix  MatchKind = "Suffix"
	Regex   MatchKind = "Regex"
	Range   MatchKind = "Range"
	Present MatchKind = "Present"
)

// FieldMatch compares a header (names ignore case; several fields of a name are one value, joined by commas) or a query parameter
// (names do not; the first of a name counts, and values are compared without decoding them).
type FieldMatch struct {
	Name  string    `json:"name"`
	Kind  MatchKind `json:"kind"`
	Value string    `json:"value,omitempty"`
	// Start and End bound a Range of decimal integers: Start <= value < End.
	Start int64 `json:"start,omitempty"`
	End   int64 `json:"end,omitempty"`
	// Invert turns the comparison round; an absent field then counts as empty, so that it usually matches.
	Invert bool `json:"invert,omitempty"`
}

// Action is what becomes of matching traffic: it goes to weighted destinations, or on to a service of its own routes.
type Action struct {
	// Destinations share the traffic in proportion to their weights, which need not add up to 100.
	Destinations []WeightedDestination `json:"destinations,omitempty"`
	// Service hands the request to the routes of a service, on a port of its router. Only routes of listeners may do so (gateways).
	Service *ServiceTarget `json:"service,omitempty"`
	// ForwardChain and Egress are the chains of destinations that a stream passes on its way there and back (l7mp).
	ForwardChain []string `json:"forwardChain,omitempty"`
	ReverseChain []string `json:"reverseChain,omitempty"`
	Rewrite      *Rewrite `json:"rewrite,omitempty"`
	Retry        Retry    `json:"retry,omitzero"`
	// Timeouts bound the hop from the client's side.
	Timeouts Timeouts `json:"timeouts,omitzero"`
}

// WeightedDestination is a share of traffic. Weight 0 gets none, unless all weights are 0, which is refused before it gets here.
type WeightedDestination struct {
	Destination string `json:"destination"`
	Weight      uint32 `json:"weight"`
	Origin      Origin `json:"origin,omitzero"`
}

// ServiceTarget names a service and one of its router's ports; port 0 is its only port.
type ServiceTarget struct {
	Service string `json:"service"`
	Port    uint16 `json:"port,omitempty"`
}

// Rewrite changes a request before it is forwarded. Empty fields leave things as they are.
type Rewrite struct {
	Host string `json:"host,omitempty"`
	// Path replaces the whole path; PathPrefix replaces the prefix that matched.
	Path       string  `json:"path,omitempty"`
	PathPrefix *string `json:"pathPrefix,omitempty"`
	// Headers are set, in place of what the request has under these names.
	Headers []Header `json:"headers,omitempty"`
	// Metadata sets values in the connection's metadata (l7mp): path -> JSON value.
	Metadata []MetadataSet `json:"metadata,omitempty"`
}

// MetadataSet puts a constant at a slash-separated path of the connection's metadata.
type MetadataSet struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Retry repeats failed tries. Retries 0 means: one try, whatever Conditions says.
type Retry struct {
	// Retries is the number of tries after the first.
	Retries uint32 `json:"retries,omitempty"`
	// PerTry bounds each try; zero leaves only the request's timeout.
	PerTry Duration `json:"perTry,omitzero"`
	// Conditions lists the failures that are worth another try.
	Conditions []RetryCondition `json:"conditions,omitempty"`
	// StatusCodes are HTTP answers that are worth another try.
	StatusCodes []uint16 `json:"statusCodes,omitempty"`
	// AvoidPreviousHosts prefers an endpoint that this request has not tried yet.
	AvoidPreviousHosts bool `json:"avoidPreviousHosts,omitempty"`
}

// RetryCondition is a kind of failure that another try may mend.
type RetryCondition string

// The failures. The GRPC ones compare the status that the answer ends with.
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

// Destination is a place that traffic can be sent to: a port of a workload, or a fixed set of addresses.
// Its name never depends on a route, so that connections and health survive a change of routes.
type Destination struct {
	Key
	// Workload is the name of the workload behind it, if it is one.
	Workload  string    `json:"workload,omitempty"`
	Port      uint16    `json:"port,omitempty"`
	Protocol  Protocol  `json:"protocol"`
	Discovery Discovery `json:"discovery"`
	Balance   Balance   `json:"balance,omitzero"`
	Origin    Origin    `json:"origin,omitzero"`
}

// DiscoveryKind is a way to find the addresses of a destination.
type DiscoveryKind string

const (
	// DiscoverDNS resolves a name and connects to one of its addresses, chosen anew for each connection.
	DiscoverDNS DiscoveryKind = "DNS"
	// DiscoverDNSEndpoints resolves a name and takes each of its addresses as an endpoint to balance over.
	DiscoverDNSEndpoints DiscoveryKind = "DNSEndpoints"
	// DiscoverInstances takes the endpoints of a group, which may be instances of several workloads.
	DiscoverInstances DiscoveryKind = "Instances"
	// DiscoverStatic takes the addresses that are written down.
	DiscoverStatic DiscoveryKind = "Static"
)

// Discovery says how the addresses of a destination are found.
type Discovery struct {
	Kind DiscoveryKind `json:"kind"`
	// Hostname is a fully qualified name, without trailing dot, for the DNS kinds.
	Hostname string `json:"hostname,omitempty"`
	// Group names the endpoints for DiscoverInstances: those that have it among their Groups. Empty: the instances of the
	// destination's workload.
	Group string `json:"group,omitempty"`
	// Addresses are host:port pairs or socket files, for DiscoverStatic.
	Addresses []StaticAddress `json:"addresses,omitempty"`
}

// StaticAddress is an address that a user wrote down: an IP address or name, or a socket file.
type StaticAddress struct {
	Host   string `json:"host,omitempty"`
	Socket string `json:"socket,omitempty"`
	Weight uint32 `json:"weight,omitempty"`
}

// BalancePolicy is a way to choose among endpoints.
type BalancePolicy string

// The balancing policies; the zero value is RoundRobin.
const (
	RoundRobin     BalancePolicy = ""
	ConsistentHash BalancePolicy = "ConsistentHash"
)

// Balance says how endpoints share the traffic of a destination.
type Balance struct {
	Policy BalancePolicy `json:"policy,omitempty"`
	// HashKey is the metadata path whose value is hashed.
	HashKey string `json:"hashKey,omitempty"`
}
