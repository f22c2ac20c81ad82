package agent

import (
	"context"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"anymesh.dev/anymesh/sidecar"
)

// nameStream is the ADS stream of an agent.
type nameStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

// agentNode is the node of each first request.
var agentNode = &corev3.Node{UserAgentName: "anymesh-agent"}

// stream receives names and the authority over one connection. It reports whether the control plane responded.
func (n *names) stream(ctx context.Context) (served bool, err error) {
	conn, err := n.dialControlPlane(n.XDSAddress)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return false, err
	}
	if n.server != nil {
		err = n.subscribeAll(s)
	}
	if err == nil {
		err = n.subscribeToAuthority(s)
	}
	if err != nil {
		return false, err
	}
	responses, failed := receiveAll(ctx, s)
	for err == nil {
		select {
		case err = <-failed:
		case name := <-n.requested:
			err = n.subscribe(s, n.table.request(name), nil)
		case r := <-responses:
			served = true
			if r.GetTypeUrl() == sidecar.AuthorityType {
				err = n.receiveAuthority(s, r)
				continue
			}
			for _, invalid := range n.table.apply(r) {
				n.Logger.Warn("resource cannot be decoded", "type", r.GetTypeUrl(), "error", invalid)
			}
			unused := n.table.dropUnused()
			n.publish() // before the ACK: the control plane then knows that the names are answered
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
			if err == nil {
				err = n.subscribe(s, nil, unused)
			}
		}
	}
	return served, err
}

// receiveAll receives responses until the stream fails or the context ends.
func receiveAll(ctx context.Context, s nameStream) (<-chan *discoveryv3.DeltaDiscoveryResponse, <-chan error) {
	responses, failed := make(chan *discoveryv3.DeltaDiscoveryResponse), make(chan error, 1)
	go func() {
		for {
			r, err := s.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case responses <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	return responses, failed
}

// subscribeAll subscribes to all host names, and to the addresses that are in use.
func (n *names) subscribeAll(s nameStream) error {
	err := s.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: agentNode, TypeUrl: sidecar.HostNameType,
		ResourceNamesSubscribe: []string{"*"}, InitialResourceVersions: n.table.hostVersions(),
	})
	if used := n.table.used(); err == nil && len(used) > 0 {
		err = s.Send(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: sidecar.EndpointAddressType, ResourceNamesSubscribe: used,
			InitialResourceVersions: n.table.endpointVersions(),
		})
	}
	return err
}

// subscribe changes the subscription to addresses of destinations.
func (n *names) subscribe(s nameStream, add, remove []string) error {
	if len(add)+len(remove) == 0 {
		return nil
	}
	return s.Send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: sidecar.EndpointAddressType, ResourceNamesSubscribe: add, ResourceNamesUnsubscribe: remove,
	})
}
