package config

import "encoding/json"

// ResourceType is the xDS type of parts of a configuration, as JSON. With one type, the proxy gets listeners and
// clusters that belong together in one response.
const ResourceType = "type.googleapis.com/anymesh.proxy.Config"

// Config is the whole configuration of a proxy. All objects refer to each other by name, or hold another object inline.
type Config struct {
	// Admin has the settings of the process.
	Admin *Admin `json:"admin,omitempty"`
	// Listeners are the sockets that accept connections.
	Listeners []Listener `json:"listeners,omitempty"`
	// Clusters are the services that connections are forwarded to.
	Clusters []Cluster `json:"clusters,omitempty"`
	// RuleLists are named lists of rules that listeners and other rules share.
	RuleLists []RuleList `json:"rulelists,omitempty"`
	// Rules are rules that several rule lists share.
	Rules []Rule `json:"rules,omitempty"`
	// Routes are routes that several rules share.
	Routes []Route `json:"routes,omitempty"`
}

// Admin has the settings of the process.
type Admin struct {
	// LogLevel is silly, verbose, info, notice, warn, error or silent. Default: info.
	LogLevel string `json:"log_level,omitempty"`
	// LogFile is stdout, stderr or a path. Default: stderr.
	LogFile string `json:"log_file,omitempty"`
	// Strict makes invalid objects get the status 422 in the API. They are always checked completely.
	Strict bool `json:"strict,omitempty"`
	// AccessLogPath is where a line is written for each request and each session that has ended: stdout, stderr or a path.
	// A file that was renamed is opened again. Default: none.
	AccessLogPath string `json:"access_log_path,omitempty"`
	// AccessLogFormat is text or json. Default: text.
	AccessLogFormat string `json:"access_log_format,omitempty"`
	// AccessLogText is a format of lines with operators of the form %NAME%, %NAME(argument)% or %NAME(argument):length%,
	// as those of Envoy. "%%" is a percent sign. Nothing is appended, also no end of line.
	AccessLogText string `json:"access_log_text,omitempty"`
	// AccessLogFields make each line a JSON object.
	AccessLogFields []LogField `json:"access_log_fields,omitempty"`
	// Tracing sends spans of HTTP requests to a collector of OpenTelemetry. Default: none.
	Tracing *Tracing `json:"tracing,omitempty"`
	// Offload is init, no_init or disable, for configurations of l7mp. The kernel moves data without it: it has no effect.
	Offload string `json:"offload,omitempty"`
	// OffloadInterfaces has no effect, as offload.
	OffloadInterfaces []string `json:"offload_ifs,omitempty"`
}

// LogField is a member of the JSON object of an entry.
type LogField struct {
	// Key is the name of the member.
	Key string `json:"key"`
	// Value is a format of entries. If it is one operator, the member has the type of its result.
	Value string `json:"value"`
}

// Listener is a socket whose connections become sessions.
type Listener struct {
	// Name is unique among listeners, without white space.
	Name string `json:"name"`
	// Spec is the protocol and the address.
	Spec ListenerSpec `json:"spec"`
	// Rules is the name of a rule list, or the rules themselves.
	Rules RulesRef `json:"rules"`
	// Options are settings of its sessions.
	Options ListenerOptions `json:"options"`
}

// ListenerOptions are settings of the sessions of a listener.
type ListenerOptions struct {
	// Track is the number of seconds that an ended session stays in the list of sessions.
	Track int `json:"track"`
	// RemoveOrphanSessions ends the sessions of a listener that is removed. Default: they go on.
	RemoveOrphanSessions bool `json:"removeOrphanSessions,omitempty"`
	// ConnectionRate limits the connections of TCP that are accepted. Others are closed.
	ConnectionRate *Rate `json:"connection_rate,omitempty"`
}

// Cluster is a service: the protocol, its endpoints, and how one of them is chosen.
type Cluster struct {
	// Name is unique among clusters, without white space.
	Name string `json:"name,omitempty"`
	// Spec is the protocol and the port.
	Spec ClusterSpec `json:"spec"`
	// Endpoints are the addresses of the service. Pseudo clusters, such as Echo, have none.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// LoadBalancer chooses the endpoint of a session.
	LoadBalancer LoadBalancer `json:"loadbalancer,omitzero"`
	// HealthCheck asks the endpoints whether they work.
	HealthCheck *HealthCheck `json:"health_check,omitempty"`
	// Outlier ejects endpoints that fail.
	Outlier *Outlier `json:"outlier,omitempty"`
	// EachAddress makes each address of a host name an endpoint. Names are resolved every 5 seconds. Default: a name is
	// resolved for each connection.
	EachAddress bool `json:"each_address,omitempty"`
	// Limits bound what goes to the cluster at a time.
	Limits Limits `json:"limits,omitzero"`
}

// Endpoint is one address of a cluster.
type Endpoint struct {
	// Name is unique among endpoints, without white space.
	Name string `json:"name,omitempty"`
	// Spec is the address.
	Spec EndpointSpec `json:"spec"`
	// Weight is the share of the endpoint among those of its cluster, from 0 to 1000000. Default: 1.
	Weight *int `json:"weight,omitempty"`
}

// EndpointSpec is the address of an endpoint.
type EndpointSpec struct {
	// Address is an IP address, a host name, or the path of a unix socket.
	Address string `json:"address,omitempty"`
	// Filename is another name of address, for unix sockets.
	Filename string `json:"filename,omitempty"`
	// Port replaces the port of the cluster.
	Port int `json:"port,omitempty"`
	// Weight is another place for the weight of the endpoint.
	Weight *int `json:"weight,omitempty"`
}

// LoadBalancer is the policy of a cluster.
type LoadBalancer struct {
	// Policy is one of Trivial (the first endpoint), RoundRobin, EqualRoundRobin, Random, LeastRequest, HashRing,
	// ConsistentHash and Maglev. Default: Trivial with one endpoint, else RoundRobin.
	Policy Policy `json:"policy,omitempty"`
	// Key is the JSON pointer into the metadata of a session whose value is hashed. Sessions without a value go to
	// endpoints at random.
	Key string `json:"key,omitempty"`
	// PanicThreshold is the percentage of endpoints: if fewer are healthy, all are used. Default: 50; 0 never uses others.
	PanicThreshold *int `json:"panic_threshold,omitempty"`
}

// RuleList is a named list of rules: the first that matches a session is applied.
type RuleList struct {
	// Name is unique among rule lists, without white space.
	Name string `json:"name"`
	// Hosts are rule lists that decide about requests to some hosts, in place of the rules.
	Hosts []HostRules `json:"hosts,omitempty"`
	// Rules are names of rules, or rules.
	Rules []RuleRef `json:"rules"`
}

// Rule is a condition and an action.
type Rule struct {
	// Name is unique among rules, without white space.
	Name string `json:"name,omitempty"`
	// Match is a JSON predicate on the metadata of a session. A string, or no value, matches all sessions.
	Match any `json:"match,omitempty"`
	// Action is what happens with sessions that match.
	Action Action `json:"action"`
}

// Action is what happens with a session. With apply, route has no effect and is refused.
type Action struct {
	// Rewrite changes the metadata of the session, also for the rules of apply.
	Rewrite []Rewrite `json:"rewrite,omitempty"`
	// Route is the name of a route, or a route.
	Route *RouteRef `json:"route,omitempty"`
	// Apply is the name of a rule list that decides instead of this one.
	Apply string `json:"apply,omitempty"`
	// Deny answers requests with the status 403, and ends sessions of other protocols. It stands alone.
	Deny bool `json:"deny,omitempty"`
	// Redirect answers HTTP requests with the URL of another place, and ends sessions of other protocols. It stands alone.
	Redirect *Redirect `json:"redirect,omitempty"`
}

// Redirect is a response that sends clients to another host or scheme, with the path and the query of their request.
type Redirect struct {
	// Scheme is http or https.
	Scheme string `json:"scheme"`
	// Host is the host name, with a port unless it is that of the scheme.
	Host string `json:"host"`
	// Status is 301, 302, 303, 307 or 308. Default: 308.
	Status int `json:"status,omitempty"`
}

// Rewrite sets one value in the metadata of a session.
type Rewrite struct {
	// Path is a JSON pointer. Objects on the way are created. "/" is all metadata.
	Path string `json:"path"`
	// Pattern is a regular expression (RE2): the value replaces what it matches first of the text at the path. Texts
	// without a match, and other values, stay. Default: the value replaces the value at the path.
	Pattern string `json:"pattern,omitempty"`
	// Value is the new value, of any type.
	Value any `json:"value"`
}

// Route says where a session goes.
type Route struct {
	// Name is unique among routes, without white space.
	Name string `json:"name,omitempty"`
	// Destination is the name of a cluster, or a cluster. "cluster" is another name of this field.
	Destination ClusterRef `json:"destination,omitzero" alias:"cluster"`
	// Destinations are several clusters in place of one: each request and session goes to one of them, at random by
	// weight.
	Destinations []WeightedCluster `json:"destinations,omitempty"`
	// Ingress are clusters that data passes through on the way to the destination.
	Ingress []ClusterRef `json:"ingress,omitempty"`
	// Egress are clusters that data passes through on the way back.
	Egress []ClusterRef `json:"egress,omitempty"`
	// Retry says when a connection or a request is tried again.
	Retry Retry `json:"retry,omitzero"`
	// Timeouts limit requests and sessions.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// Metrics are labels of what is counted of the HTTP requests of the route. Default: they are counted by listener only.
	Metrics *RouteMetrics `json:"metrics,omitempty"`
	// Rate limits the HTTP requests of the route.
	Rate *RequestRate `json:"rate,omitempty"`
	// Mirrors are clusters that get a copy of what clients send. Their answers are dropped.
	Mirrors []Mirror `json:"mirrors,omitempty"`
}

// WeightedCluster is a cluster that gets a share of the requests and sessions of a route. A cluster that does not exist
// keeps its share, which fails.
type WeightedCluster struct {
	// Destination is the name of a cluster, or a cluster.
	Destination ClusterRef `json:"destination" alias:"cluster"`
	// Weight is the share, in relation to the sum of all weights of the route, from 0 to 1000000. Default: 1.
	Weight *int `json:"weight,omitempty"`
}

// Mirror is a cluster that gets a copy of requests, of up to 16 KiB, or of the data of sessions. What it does not take
// in time is lost for it: messages, or the rest of a stream of bytes.
type Mirror struct {
	// Destination is the name of a cluster, or a cluster.
	Destination ClusterRef `json:"destination" alias:"cluster"`
	// Percent is the share of requests and sessions that are copied, from 0 to 100. Default: 100.
	Percent *int `json:"percent,omitempty"`
}

// Policy is a way to choose an endpoint.
type Policy string

// The policies of load balancers. EqualRoundRobin ignores weights. ConsistentHash is another name of HashRing.
const (
	Trivial         Policy = "Trivial"
	RoundRobin      Policy = "RoundRobin"
	EqualRoundRobin Policy = "EqualRoundRobin"
	Random          Policy = "Random"
	LeastRequest    Policy = "LeastRequest"
	HashRing        Policy = "HashRing"
	ConsistentHash  Policy = "ConsistentHash"
	Maglev          Policy = "Maglev"
)

// EffectiveWeight returns the weight of an endpoint, from one of its two places.
func (e *Endpoint) EffectiveWeight() int {
	switch {
	case e.Weight != nil:
		return *e.Weight
	case e.Spec.Weight != nil:
		return *e.Spec.Weight
	}
	return 1
}

// EffectiveWeight returns the weight of a cluster of a route.
func (w *WeightedCluster) EffectiveWeight() int {
	if w.Weight == nil {
		return 1
	}
	return *w.Weight
}

// Copy returns a deep copy of a value of JSON: nil, bool, number, string, []any or map[string]any.
func Copy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = Copy(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = Copy(value)
		}
		return out
	}
	return v
}

// String returns the object as JSON.
func (c *Config) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error() // values of JSON can be encoded
	}
	return string(text)
}
