package delivery_test

import (
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"anymesh.dev/anymesh/sidecar"
)

// agentStream is the stream of a pod's agent that subscribes to the authority, with the version that it has.
type agentStream struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
}

func newAgentStream(t *testing.T, conn *grpc.ClientConn, pod, version string) agentStream {
	t.Helper()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := &discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: front.String(), Cluster: pod}, TypeUrl: sidecar.AuthorityType,
		ResourceNamesSubscribe: []string{"*"},
	}
	if version != "" {
		first.InitialResourceVersions = map[string]string{"mesh": version}
	}
	if err := stream.Send(first); err != nil {
		t.Fatal(err)
	}
	return agentStream{stream}
}

// receive returns the trusted roots of a response, and its resource's version.
func (s agentStream) receive(t *testing.T) (roots, nonce, version string) {
	t.Helper()
	r := receive(t, s)
	if len(r.Resources) != 1 {
		t.Fatalf("got %v", r)
	}
	c := &tlsv3.CommonTlsContext{}
	if err := r.Resources[0].Resource.UnmarshalTo(c); err != nil {
		t.Fatal(err)
	}
	return string(c.GetValidationContext().GetTrustedCa().GetInlineBytes()), r.Nonce, r.Resources[0].Version
}

func (s agentStream) acknowledge(t *testing.T, nonce string) {
	t.Helper()
	err := s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: sidecar.AuthorityType, ResponseNonce: nonce})
	if err != nil {
		t.Fatal(err)
	}
}

// Agents get a changed authority over their connections. Those that had it before they connect acknowledge an empty
// response.
func TestAuthorityIsConfirmed(t *testing.T) {
	f, conn := newClientFixture(t)
	set := func(roots string) {
		t.Helper()
		if err := f.SetAuthority([]byte("signer"), []byte(roots)); err != nil {
			t.Fatal(err)
		}
	}
	confirmed := func(roots string, pods ...string) {
		t.Helper()
		eventually(t, "confirmations of "+roots, func() bool { return slices.Equal(f.Confirmed([]byte(roots)), pods) })
	}
	f.applyYAML(t, shop)
	set("old")
	one := newAgentStream(t, conn, "p1", "")
	roots, nonce, _ := one.receive(t)
	if roots != "old" {
		t.Errorf("got roots %q", roots)
	}
	confirmed("old")
	one.acknowledge(t, nonce)
	confirmed("old", "p1")
	set("old")
	confirmed("old", "p1")

	set("both")
	confirmed("old")
	confirmed("both")
	roots, late, version := one.receive(t)
	if roots != "both" {
		t.Errorf("got roots %q", roots)
	}
	two := newAgentStream(t, conn, "p2", version)
	empty := receive(t, two)
	if len(empty.Resources) > 0 {
		t.Errorf("an agent gets %v, which it has", empty)
	}
	two.acknowledge(t, empty.Nonce)
	confirmed("both", "p2")
	one.acknowledge(t, late)
	confirmed("both", "p1", "p2")
	set("another")
	if roots, _, _ := two.receive(t); roots != "another" {
		t.Errorf("got roots %q, or the same ones again", roots)
	}
	set("both")
	confirmed("both")
}

// A pod that disconnects has to confirm the authority again: it may connect to another replica.
func TestConfirmationOfDisconnectedAgent(t *testing.T) {
	f, conn := newClientFixture(t)
	f.applyYAML(t, shop)
	if err := f.SetAuthority([]byte("signer"), []byte("roots")); err != nil {
		t.Fatal(err)
	}
	agent := newAgentStream(t, conn, "p1", "")
	_, nonce, _ := agent.receive(t)
	agent.acknowledge(t, nonce)
	eventually(t, "a confirmation", func() bool { return len(f.Confirmed([]byte("roots"))) == 1 })
	_ = conn.Close()
	eventually(t, "no confirmation", func() bool { return len(f.Confirmed([]byte("roots"))) == 0 })
}
