package pipy

// ResourceType is the xDS type of parts of config.json. With one type, a change of listeners and clusters arrives at
// once.
const ResourceType = "type.googleapis.com/anymesh.pipy.Config"

// Config is config.json, the input of the scripts, or a part of it: that of a workload, or that of a destination. The
// keys are those of osm-edge's driver for pipy as far as they say the same.
type Config struct {
	// Version is a hash of the rest.
	Version string `json:"Version,omitempty"`
	// Draining is true if connections of clients end after their next response.
	Draining bool      `json:"Draining,omitempty"`
	Spec     *Spec     `json:"Spec,omitempty"`
	Inbound  *Inbound  `json:"Inbound,omitempty"`
	Outbound *Outbound `json:"Outbound,omitempty"`
	// ClustersConfigs are the clusters of rules, by name.
	ClustersConfigs map[string]Cluster `json:"ClustersConfigs,omitempty"`
}

// Spec has the settings of the mesh.
type Spec struct {
	Traffic Traffic `json:"Traffic"`
}

// Traffic has the rule for traffic to destinations that are not declared.
type Traffic struct {
	EnableEgress bool `json:"EnableEgress"`
}

// Inbound are the listeners for connections to the application, by port.
type Inbound struct {
	TrafficMatches map[string]Match `json:"TrafficMatches"`
}

// Outbound are the services that the application reaches, by port.
type Outbound struct {
	TrafficMatches map[string][]Match `json:"TrafficMatches"`
}

// Match is what the proxy does with the connections of a port.
type Match struct {
	Port int `json:"Port"`
	// Protocol is tcp for streams, and http or grpc for requests.
	Protocol string `json:"Protocol"`
	// DestinationIPRanges restricts it to connections to some addresses and ranges, ServerNames to those of clients that
	// ask for one of some server names in lower case ("*.domain" is a suffix).
	DestinationIPRanges map[string]bool `json:"DestinationIPRanges,omitempty"`
	ServerNames         []string        `json:"ServerNames,omitempty"`
	// Original passes streams to the address that the client has chosen, at OriginalPort if it is not 0, with the TLS of
	// TargetClusters. Resolves passes them to the address of the server name.
	Original     bool `json:"Original,omitempty"`
	OriginalPort int  `json:"OriginalPort,omitempty"`
	Resolves     bool `json:"Resolves,omitempty"`
	// TLS is that of a listener. Closed is true for one that no connection may use.
	TLS    *TLS `json:"TLS,omitempty"`
	Closed bool `json:"Closed,omitempty"`
	// HTTPHostPort2Service are the names of the rules for host names, with and without port; "*" is for all others.
	HTTPHostPort2Service  map[string]string     `json:"HttpHostPort2Service,omitempty"`
	HTTPServiceRouteRules map[string]RouteRules `json:"HttpServiceRouteRules,omitempty"`
	// Denies is true if requests without a rule get status 403 in place of 404.
	Denies bool `json:"Denies,omitempty"`
	// TargetClusters are the clusters of streams with their weights.
	TargetClusters map[string]uint32 `json:"TargetClusters,omitempty"`
}

// RouteRules are rules of which the first that matches applies.
type RouteRules struct {
	RouteRules []RouteRule `json:"RouteRules"`
}

// RouteRule matches requests. Fields that are not set match everything.
type RouteRule struct {
	// Path is compared as Type says: Exact, Prefix, PathPrefix, Suffix or Regex.
	Path    string        `json:"Path,omitempty"`
	Type    string        `json:"Type,omitempty"`
	Headers []HeaderMatch `json:"Headers,omitempty"`
	Methods []string      `json:"Methods,omitempty"`
	// AllowedServices are names in the certificate of the client, of which it must have one; "*" is any name.
	AllowedServices []string `json:"AllowedServices,omitempty"`
	// Clients restricts the rule to clients from outside of the mesh.
	Clients *Clients `json:"Clients,omitempty"`
	// TargetClusters are the clusters with their weights. Without any, requests get status 404.
	TargetClusters map[string]uint32 `json:"TargetClusters,omitempty"`
	RetryPolicy    *RetryPolicy      `json:"RetryPolicy,omitempty"`
}

// RetryPolicy says which requests are sent again.
type RetryPolicy struct {
	// RetryOn are the status codes after which a request is sent again. Reset is true if it is also sent again when an
	// endpoint does not respond.
	RetryOn []uint16 `json:"RetryOn,omitempty"`
	Reset   bool     `json:"Reset,omitempty"`
	// NumRetries limits the retries.
	NumRetries uint32 `json:"NumRetries"`
	// RetryBackoffBaseInterval is the longest time before the first retry, in seconds.
	RetryBackoffBaseInterval float64 `json:"RetryBackoffBaseInterval"`
}

// Clients are clients from outside of the mesh, which meet each condition.
type Clients struct {
	// TLS is true for clients that use TLS, and false for clients that do not.
	TLS bool `json:"TLS,omitempty"`
	// Addresses are addresses and ranges from which they connect, ServerNames the server names for which they ask.
	Addresses   map[string]bool `json:"Addresses,omitempty"`
	ServerNames []string        `json:"ServerNames,omitempty"`
}

// HeaderMatch compares a header, whose name is in lower case.
type HeaderMatch struct {
	Name   string `json:"Name"`
	Type   string `json:"Type"`
	Value  string `json:"Value,omitempty"`
	Invert bool   `json:"Invert,omitempty"`
}

// Cluster is where requests and streams go.
type Cluster struct {
	// Endpoints are addresses with port and their weights, which are used if Weighted is true.
	Endpoints map[string]uint32 `json:"Endpoints"`
	Weighted  bool              `json:"Weighted,omitempty"`
	// Version is 2 for HTTP/2.
	Version int  `json:"Version,omitempty"`
	TLS     *TLS `json:"TLS,omitempty"`
}

// TLS is one side of connections with TLS.
type TLS struct {
	// Mode is Strict or Permissive, for servers.
	Mode string `json:"Mode,omitempty"`
	// Certificate and Key are files of the side; empty for none.
	Certificate string `json:"Certificate,omitempty"`
	Key         string `json:"Key,omitempty"`
	// Trusted is the file with the authorities of the peer; empty if its certificate is not verified. Names are DNS names
	// of which it must have one.
	Trusted string   `json:"Trusted"`
	Names   []string `json:"Names,omitempty"`
	// Exceptions are clients to which the TLS of a server does not apply: those without TLS are served, and those with TLS
	// need no certificate.
	Exceptions []Clients `json:"Exceptions,omitempty"`
	// ServerName is the SNI of a client.
	ServerName string `json:"ServerName,omitempty"`
}
