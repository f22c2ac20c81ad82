package config

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// listenerFields are the fields of a listener's spec by protocol.
var listenerFields = map[Protocol][]string{
	HTTP:             {"port", "address", "tls", "http2", "proxy_protocol", "captured", "canonical", "forwarded", "trusted_hops"},
	WebSocket:        {"port", "address", "tls", "http2", "proxy_protocol"},
	TCP:              {"port", "address", "tls", "proxy_protocol", "captured", "sni"},
	UDP:              {"port", "address", "connect", "options"},
	UnixDomainSocket: {"filename", "type"},
	JSONSocket:       {"transport"},
	Stdio:            {},
}

// clusterFields are the fields of a cluster's spec by protocol.
var clusterFields = map[Protocol][]string{
	HTTP:             {"port", "bind", "tls", "http2", "proxy_protocol", "to", "family", "send_timeout"},
	WebSocket:        {"port", "bind", "tls", "http2", "proxy_protocol", "family", "send_timeout"},
	TCP:              {"port", "bind", "tls", "proxy_protocol", "to", "family", "send_timeout"},
	UDP:              {"port", "bind"},
	UnixDomainSocket: {"type"},
	JSONSocket:       {"transport", "header"},
	Stdio:            {},
	Echo:             {},
	Discard:          {},
	Logger:           {"log_file", "log_prefix"},
	JSONEncap:        {},
	JSONDecap:        {},
	Sync:             {"query"},
	Metric:           {},
	Controller:       {"token_file"},
	Prometheus:       {},
}

// pseudo are the clusters without endpoints.
var pseudo = []Protocol{Stdio, Echo, Discard, Logger, JSONEncap, JSONDecap, Sync, Metric, Prometheus, Controller}

// Pseudo reports whether clusters of a protocol have no endpoints.
func (p Protocol) Pseudo() bool { return slices.Contains(pseudo, p) }

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("must not be empty")
	case strings.ContainsFunc(name, unicode.IsSpace):
		return fmt.Errorf("%q: names have no white space", name)
	}
	return nil
}

func (l *Listener) check(set map[string]bool) error {
	switch {
	case !set["name"]:
		return errors.New("name: is required")
	case !set["spec"]:
		return errors.New("spec: is required")
	case !set["rules"]:
		return errors.New("rules: is required")
	case l.Options.Track < 0:
		return errors.New("options.track: must not be negative")
	}
	return named("name", checkName(l.Name))
}

func (c *Cluster) check(set map[string]bool) error {
	if !set["spec"] {
		return errors.New("spec: is required")
	}
	if set["name"] {
		if err := checkName(c.Name); err != nil {
			return named("name", err)
		}
	}
	if c.Spec.Protocol.Pseudo() && (c.HealthCheck != nil || c.Outlier != nil) {
		return fmt.Errorf("health_check: clusters of protocol %s have no endpoints", c.Spec.Protocol)
	}
	if c.Spec.To != "" && (c.HealthCheck != nil || c.Outlier != nil || len(c.Endpoints) > 0) {
		return errors.New("endpoints: clusters with to have none")
	}
	if c.Spec.Protocol.Pseudo() && len(c.Endpoints) > 0 {
		return fmt.Errorf("endpoints: clusters of protocol %s have none", c.Spec.Protocol)
	}
	for i := range c.Endpoints {
		if err := c.CheckEndpoint(&c.Endpoints[i]); err != nil {
			return fmt.Errorf("endpoints[%d].%w", i, err)
		}
	}
	return nil
}

// CheckEndpoint checks whether an endpoint fits to the cluster.
func (c *Cluster) CheckEndpoint(e *Endpoint) error {
	transport := &c.Spec
	for transport.Transport != nil {
		transport = transport.Transport
	}
	if transport.Protocol != UnixDomainSocket {
		if transport.Port == 0 && e.Spec.Port == 0 {
			return errors.New("spec.port: neither the cluster nor the endpoint has a port")
		}
		if e.Spec.Filename != "" {
			return fmt.Errorf("spec.filename: is not a field of protocol %s", transport.Protocol)
		}
	}
	return nil
}

func (e *Endpoint) check(set map[string]bool) error {
	if !set["spec"] {
		return errors.New("spec: is required")
	}
	if e.Weight != nil && e.Spec.Weight != nil && *e.Weight != *e.Spec.Weight {
		return errors.New("weight: differs from spec.weight")
	}
	if w := e.EffectiveWeight(); w < 0 || w > 1e6 {
		return fmt.Errorf("weight: must be from 0 to 1000000, is %d", w)
	}
	if set["name"] {
		return named("name", checkName(e.Name))
	}
	return nil
}

func (s *EndpointSpec) check(map[string]bool) error {
	switch {
	case s.Address == "" && s.Filename == "":
		return errors.New("address: is required")
	case s.Address != "" && s.Filename != "" && s.Address != s.Filename:
		return errors.New("filename: differs from address")
	case s.Address == "":
		s.Address = s.Filename
	}
	return named("port", checkPort(s.Port, true))
}

func (l *RuleList) check(set map[string]bool) error {
	switch {
	case !set["name"]:
		return errors.New("name: is required")
	case !set["rules"]:
		return errors.New("rules: is required")
	}
	return named("name", checkName(l.Name))
}

func (r *Rule) check(set map[string]bool) error {
	if !set["action"] {
		return errors.New("action: is required")
	}
	if set["name"] {
		return named("name", checkName(r.Name))
	}
	return nil
}

func (r *Route) check(set map[string]bool) error {
	switch {
	case set["destination"] && set["destinations"]:
		return errors.New("destinations: replaces destination, which is set, too")
	case !set["destination"] && !set["destinations"]:
		return errors.New("destination: is required")
	}
	total := 0
	for i := range r.Destinations {
		total += r.Destinations[i].EffectiveWeight()
	}
	if set["destinations"] && total == 0 {
		return errors.New("destinations: the sum of the weights must not be 0")
	}
	if set["name"] {
		return named("name", checkName(r.Name))
	}
	return nil
}

func (w *WeightedCluster) check(set map[string]bool) error {
	if !set["destination"] {
		return errors.New("destination: is required")
	}
	if weight := w.EffectiveWeight(); weight < 0 || weight > 1e6 {
		return fmt.Errorf("weight: must be from 0 to 1000000, is %d", weight)
	}
	return nil
}

func (l *LoadBalancer) check(map[string]bool) error {
	hashes := []Policy{HashRing, ConsistentHash, Maglev}
	others := []Policy{"", Trivial, RoundRobin, EqualRoundRobin, Random, LeastRequest}
	switch {
	case !slices.Contains(slices.Concat(hashes, others), l.Policy):
		return fmt.Errorf("policy: %q is not supported", l.Policy)
	case l.PanicThreshold != nil && (*l.PanicThreshold < 0 || *l.PanicThreshold > 100):
		return errors.New("panic_threshold: must be from 0 to 100")
	case l.Key != "" && !slices.Contains(hashes, l.Policy):
		return fmt.Errorf("key: is not a field of policy %q", l.Policy)
	}
	return nil
}

func (a *Admin) check(map[string]bool) error {
	levels := []string{"", "silly", "verbose", "info", "notice", "warn", "error", "silent"}
	if !slices.Contains(levels, a.LogLevel) {
		return fmt.Errorf("log_level: %q is none of %s", a.LogLevel, strings.Join(levels[1:], ", "))
	}
	if !slices.Contains([]string{"", "text", "json"}, a.AccessLogFormat) {
		return fmt.Errorf("access_log_format: %q is none of text and json", a.AccessLogFormat)
	}
	if !slices.Contains([]string{"", "init", "no_init", "disable"}, a.Offload) {
		return fmt.Errorf("offload: %q is none of init, no_init and disable", a.Offload)
	}
	return a.checkLog()
}

// named puts the name of a field before an error.
func named(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

func checkPort(port int, optional bool) error {
	if port < 0 || port > 65535 || port == 0 && !optional {
		return fmt.Errorf("must be from 1 to 65535, is %d", port)
	}
	return nil
}

func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	if _, err := netip.ParseAddr(address); err != nil {
		return fmt.Errorf("%q is not an IP address", address)
	}
	return nil
}

// onlyFields checks that a spec has no other fields than those of its protocol.
func onlyFields(spec any, protocol Protocol, all map[Protocol][]string) error {
	allowed, known := all[protocol]
	if !known {
		supported := make([]string, 0, len(all))
		for p := range all {
			supported = append(supported, string(p))
		}
		slices.Sort(supported)
		if protocol == "" {
			return fmt.Errorf("protocol: is required, one of %s", strings.Join(supported, ", "))
		}
		return fmt.Errorf("protocol: %q is not supported here; supported are %s", protocol, strings.Join(supported, ", "))
	}
	v := reflect.ValueOf(spec).Elem()
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		if name != "protocol" && !v.Field(i).IsZero() && !slices.Contains(allowed, name) {
			return fmt.Errorf("%s: is not supported with protocol %s", name, protocol)
		}
	}
	return nil
}

// ProtocolFields returns the fields of the specs of listeners and clusters, by protocol.
func ProtocolFields() (listeners, clusters map[Protocol][]string) {
	return listenerFields, clusterFields
}
