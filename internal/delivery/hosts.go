package delivery

import (
	"net/netip"
	"slices"
	"time"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Times for which clients may cache addresses. The address of a service rarely changes, the endpoints of a destination
// often.
const (
	serviceTTL  = 30 * time.Second
	endpointTTL = 5 * time.Second
)

// hostResources renders a host name. A host with destinations refers to their endpointAddresses by name, so that a
// change of an endpoint does not change it. The empty origin stands for the workload.
func hostResources(h model.Host) []sidecar.Resource {
	domain := &datadnsv3.DnsTable_DnsVirtualDomain{
		Name: h.Name, Endpoint: addressList(h.Addresses), AnswerTtl: durationpb.New(serviceTTL),
	}
	if len(h.Destinations) > 0 {
		domain.Endpoint, domain.AnswerTtl = serviceList(h), durationpb.New(endpointTTL)
	}
	return appendMessage(nil, sidecar.HostNameType, h.Name, domain, model.Origin{})
}

// sameHost reports whether both hosts have equal resources.
func sameHost(a, b model.Host) bool {
	return a.Name == b.Name && slices.Equal(a.Addresses, b.Addresses) && slices.Equal(a.Destinations, b.Destinations)
}

// endpointAddresses renders the addresses of the ready endpoints of a destination that has a DNS name. Agents
// subscribe to it when an application asks for the name.
func endpointAddresses(r model.ResolvedDestination) []sidecar.Resource {
	if r.Destination.Discovery.DNSName == "" {
		return nil
	}
	var addresses []netip.Addr
	for _, e := range r.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return appendMessage(nil, sidecar.EndpointAddressType, r.Destination.Name, addressList(addresses),
		r.Destination.Origin)
}

func addressList(all []netip.Addr) *datadnsv3.DnsTable_DnsEndpoint {
	list := &datadnsv3.DnsTable_AddressList{}
	for _, a := range all {
		list.Address = append(list.Address, a.String())
	}
	return &datadnsv3.DnsTable_DnsEndpoint{
		EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_AddressList{AddressList: list},
	}
}

// serviceList refers to destinations as the clusters of a DNS service.
func serviceList(h model.Host) *datadnsv3.DnsTable_DnsEndpoint {
	service := &datadnsv3.DnsTable_DnsService{ServiceName: h.Name}
	for _, name := range h.Destinations {
		service.Targets = append(service.Targets, &datadnsv3.DnsTable_DnsServiceTarget{
			EndpointType: &datadnsv3.DnsTable_DnsServiceTarget_ClusterName{ClusterName: name},
		})
	}
	return &datadnsv3.DnsTable_DnsEndpoint{EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_ServiceList{
		ServiceList: &datadnsv3.DnsTable_DnsServiceList{Services: []*datadnsv3.DnsTable_DnsService{service}},
	}}
}

// appendMessage appends a resource. It skips names that are not UTF-8: no client can ask for them.
func appendMessage(to []sidecar.Resource, typeURL, name string, m proto.Message,
	origin model.Origin) []sidecar.Resource {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return to
	}
	return append(to, sidecar.Resource{Type: typeURL, Name: name, Body: body, Origins: []model.Origin{origin}})
}

// renderHosts renders the resources of host names, if there are clients. There are no findings about them.
func (c *difference) renderHosts() error {
	if !c.publish {
		return nil
	}
	old, known := c.view.source.Hosts, c.before.hosts
	if c.first {
		old = nil
	} else if sameList(old, c.now.Hosts) {
		c.after.hosts = known
		return nil
	}
	c.after.hosts = make(resources, 0, len(c.now.Hosts))
	for _, h := range c.now.Hosts { // both lists are sorted
		for len(old) > 0 && old[0].Name < h.Name {
			old = old[1:]
		}
		encoded, is := known.find(xds.Ref{TypeURL: sidecar.HostNameType, Name: h.Name})
		if is && len(old) > 0 && sameHost(old[0], h) {
			c.after.hosts = append(c.after.hosts, encoded)
			continue
		}
		more, err := encode(hostResources(h), nil)
		if err != nil {
			return err
		}
		c.after.hosts = append(c.after.hosts, more...)
	}
	return c.replace(known, c.after.hosts)
}

// sameList reports whether both lists are the same memory, as in two versions of an outbound view with the same ports.
func sameList[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
