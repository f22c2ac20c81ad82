package envoy

import (
	"fmt"
	"unique"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Driver is the Envoy sidecar driver. Its zero value listens on IPv4 and IPv6.
type Driver struct {
	// ipv4Only is set if a kernel may have no IPv6: Envoy would refuse the listeners.
	ipv4Only bool
}

var _ sidecar.OutboundRenderer = Driver{}

// Render returns the listener, routes and clusters for inbound connections of a workload's sidecars.
func (d Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	r := renderer{driver: d, view: v, find: inboundDestination(v.Mesh)}
	if v.Workload.Role == model.RoleGateway {
		r.gateway()
	} else {
		r.ingress()
	}
	return r.resources, model.SortFindings(r.findings)
}

// RenderOutbound returns the listener for outbound connections or, for a gateway, the internal listeners; the routes of
// undeclared host names; and the secrets of connections to destinations.
func (d Driver) RenderOutbound(mesh model.Mesh, outbound *model.OutboundView) ([]sidecar.Resource, []model.Finding) {
	// The empty origin of the workload stands for each user.
	r := renderer{driver: d, view: &model.View{Mesh: mesh, OutboundView: *outbound}, find: outbound.Destination}
	if outbound.Gateway {
		r.internalListeners()
	} else {
		r.egress()
	}
	r.addClientSecrets(outbound.Destinations)
	return r.resources, model.SortFindings(r.findings)
}

// RenderBinding returns the routes and scopes of a service on a port.
func (Driver) RenderBinding(mesh model.Mesh, port uint16, b model.Binding,
	find func(string) (model.Destination, bool)) ([]sidecar.Resource, []model.Finding) {
	r := renderer{view: &model.View{Mesh: mesh}, find: find}
	r.scopedRoutes(port, b)
	return r.resources, model.SortFindings(r.findings)
}

// RenderDestination returns the cluster of a destination and, for EDS, its ClusterLoadAssignment.
func (Driver) RenderDestination(reach model.ResolvedDestination) []sidecar.Resource {
	d := reach.Destination
	if d.Discovery.Kind == model.DiscoverNone {
		return nil // the feature has a finding
	}
	cluster := destinationCluster(reach.Mesh, d)
	if d.TLS != nil {
		cluster.TransportSocket, _ = clientSocket(d) // RenderOutbound returns the secrets
	}
	out := []sidecar.Resource{newResource(egressCluster(d), cluster, d.Origin)}
	if d.Discovery.Kind == model.DiscoverInstances {
		out = append(out, newResource(egressCluster(d), loadAssignment(reach), d.Origin))
	}
	return out
}

// renderer collects the resources of one view, outbound view or binding.
type renderer struct {
	driver    Driver
	view      *model.View
	find      func(destination string) (model.Destination, bool)
	resources []sidecar.Resource
	findings  []model.Finding
}

func (r *renderer) add(name string, m proto.Message, origins ...model.Origin) {
	r.resources = append(r.resources, newResource(name, m, origins...))
}

// newResource encodes a message deterministically as a resource.
func newResource(name string, m proto.Message, origins ...model.Origin) sidecar.Resource {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		// valid: all strings come from JSON
		panic(fmt.Sprintf("envoy: %s does not encode: %v", name, err))
	}
	return sidecar.Resource{Type: typeURL(m), Name: name, Body: body, Origins: origins}
}

// typeURL returns the type URL of a message. All resources of a type share the string.
func typeURL(m proto.Message) string {
	return unique.Make("type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName())).Value()
}

// Decode returns the message of a resource, for golden files and configuration dumps.
func Decode(res sidecar.Resource) (proto.Message, error) {
	return (&anypb.Any{TypeUrl: res.Type, Value: res.Body}).UnmarshalNew()
}

func typedConfig(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(fmt.Sprintf("envoy: %T does not encode: %v", m, err))
	}
	return a
}

// The messages that are rendered here; naming them links their types into the binary for Decode.
var _ = []proto.Message{&listenerv3.Listener{}, &routev3.RouteConfiguration{},
	&routev3.ScopedRouteConfiguration{}, &clusterv3.Cluster{},
	&endpointv3.ClusterLoadAssignment{}, &tlsv3.Secret{}, &tlsv3.SdsSecretConfig{},
	&corev3.TypedExtensionConfig{}}
