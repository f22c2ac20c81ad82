package agent

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/pod/dns"
	"anymesh.dev/anymesh/sidecar"
)

// nameTable has the host names of a workload, and the addresses of the destinations that applications have asked for.
// It is not safe for concurrent use.
type nameTable struct {
	Hosts map[string]nameHost `json:"hosts"` // by lower-case name
	// Endpoints are the destinations with a subscription, by name.
	Endpoints map[string]nameEndpoints `json:"endpoints"`
}

// nameHost is a host name with its addresses, or with destinations whose endpoints are its addresses.
type nameHost struct {
	Resource     string       `json:"resource"`
	Version      string       `json:"version"`
	TTL          uint32       `json:"ttl"` // seconds
	Addresses    []netip.Addr `json:"addresses,omitempty"`
	Destinations []string     `json:"destinations,omitempty"`
}

// nameEndpoints are the addresses of the ready endpoints of a destination.
type nameEndpoints struct {
	// Received is false until the control plane has sent the addresses.
	Received  bool         `json:"received"`
	Version   string       `json:"version"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

func newNameTable() nameTable {
	return nameTable{Hosts: map[string]nameHost{}, Endpoints: map[string]nameEndpoints{}}
}

// request subscribes to the destinations of a name, and returns those that are new.
func (t *nameTable) request(name string) []string {
	var added []string
	for _, to := range t.Hosts[name].Destinations {
		if _, known := t.Endpoints[to]; !known {
			t.Endpoints[to] = nameEndpoints{}
			added = append(added, to)
		}
	}
	return added
}

// used lists the destinations with a subscription.
func (t *nameTable) used() []string { return slices.Sorted(maps.Keys(t.Endpoints)) }

// dropUnused removes the destinations that no name has any more, and returns them.
func (t *nameTable) dropUnused() []string {
	unused := maps.Clone(t.Endpoints)
	for _, h := range t.Hosts {
		for _, to := range h.Destinations {
			delete(unused, to)
		}
	}
	maps.DeleteFunc(t.Endpoints, func(name string, _ nameEndpoints) bool { _, drop := unused[name]; return drop })
	return slices.Sorted(maps.Keys(unused))
}

// hostVersions returns the versions of the resources of host names.
func (t *nameTable) hostVersions() map[string]string {
	out := map[string]string{}
	for _, h := range t.Hosts {
		out[h.Resource] = h.Version
	}
	return out
}

// endpointVersions returns the versions of the resources of destinations.
func (t *nameTable) endpointVersions() map[string]string {
	out := map[string]string{}
	for name, e := range t.Endpoints {
		if e.Version != "" {
			out[name] = e.Version
		}
	}
	return out
}

// apply adds and removes the resources of a response. It returns an error for each resource that it cannot decode.
func (t *nameTable) apply(r *discoveryv3.DeltaDiscoveryResponse) (invalid []error) {
	add, remove := t.addHost, t.removeHost
	switch r.GetTypeUrl() {
	case sidecar.HostNameType:
	case sidecar.EndpointAddressType:
		add, remove = t.addEndpoints, t.removeEndpoints
	default:
		return []error{fmt.Errorf("unknown type %q", r.GetTypeUrl())}
	}
	for _, name := range r.GetRemovedResources() {
		remove(name)
	}
	for _, resource := range r.GetResources() {
		if err := add(resource); err != nil {
			invalid = append(invalid, fmt.Errorf("resource %q: %w", resource.GetName(), err))
		}
	}
	return invalid
}

func (t *nameTable) addHost(r *discoveryv3.Resource) error {
	var domain datadnsv3.DnsTable_DnsVirtualDomain
	if err := proto.Unmarshal(r.GetResource().GetValue(), &domain); err != nil {
		return err
	}
	h := nameHost{
		Resource: r.GetName(), Version: r.GetVersion(), TTL: uint32(domain.GetAnswerTtl().GetSeconds()),
		Addresses: parseAddresses(domain.GetEndpoint()),
	}
	for _, service := range domain.GetEndpoint().GetServiceList().GetServices() {
		for _, target := range service.GetTargets() {
			h.Destinations = append(h.Destinations, target.GetClusterName())
		}
	}
	t.Hosts[strings.ToLower(r.GetName())] = h
	return nil
}

func (t *nameTable) removeHost(name string) { delete(t.Hosts, strings.ToLower(name)) }

func (t *nameTable) addEndpoints(r *discoveryv3.Resource) error {
	var endpoint datadnsv3.DnsTable_DnsEndpoint
	if err := proto.Unmarshal(r.GetResource().GetValue(), &endpoint); err != nil {
		return err
	}
	t.Endpoints[r.GetName()] = nameEndpoints{true, r.GetVersion(), parseAddresses(&endpoint)}
	return nil
}

// removeEndpoints keeps the subscription: the control plane sends the destination again if it returns.
func (t *nameTable) removeEndpoints(name string) { t.Endpoints[name] = nameEndpoints{Received: true} }

// parseAddresses returns the IP addresses of an endpoint, and skips all other texts.
func parseAddresses(e *datadnsv3.DnsTable_DnsEndpoint) []netip.Addr {
	var out []netip.Addr
	for _, text := range e.GetAddressList().GetAddress() {
		if address, err := netip.ParseAddr(text); err == nil {
			out = append(out, address)
		}
	}
	return out
}

// records returns the records of all names. A name with destinations is pending until their addresses are received.
func (t *nameTable) records() map[string]dns.Record {
	out := make(map[string]dns.Record, len(t.Hosts))
	for name, h := range t.Hosts {
		record := dns.Record{TTL: h.TTL, Addresses: h.Addresses}
		for _, to := range h.Destinations {
			e := t.Endpoints[to]
			record.Pending = record.Pending || !e.Received
			for _, a := range e.Addresses {
				if !slices.Contains(record.Addresses, a) {
					record.Addresses = append(record.Addresses, a)
				}
			}
		}
		out[name] = record
	}
	return out
}
