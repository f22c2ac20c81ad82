package envoy

import (
	"bytes"
	"net/netip"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"anymesh.dev/anymesh/model"
)

func pool(f model.AddressFamily, addresses ...[]netip.Addr) model.ResolvedDestination {
	r := model.ResolvedDestination{
		Mesh: model.Mesh{Name: "m", Egress: model.EgressDeny, Family: f},
		Destination: model.Destination{
			Key: model.Key{Mesh: "m", Name: "pool_http_8080"}, Workload: "pool", Port: 8080, Protocol: model.HTTP,
			Discovery: model.Discovery{Kind: model.DiscoverInstances, Group: "g"},
		},
	}
	for _, a := range addresses {
		r.Endpoints = append(r.Endpoints, model.Endpoint{Addresses: a, Ready: true, Groups: []string{"g"}})
	}
	return r
}

// A new pod changes only the ClusterLoadAssignment.
func TestEndpointsChangeOnlyLoadAssignment(t *testing.T) {
	one := netip.MustParseAddr("10.0.0.1")
	before := Driver{}.RenderDestination(pool(model.AnyFamily))
	after := Driver{}.RenderDestination(pool(model.AnyFamily, []netip.Addr{one}))
	if len(before) != len(after) {
		t.Fatalf("got %d resources before, %d after", len(before), len(after))
	}
	changed := 0
	for i := range before {
		if !bytes.Equal(before[i].Body, after[i].Body) {
			changed++
			if before[i].Type != typeURL(&endpointv3.ClusterLoadAssignment{}) {
				t.Errorf("%s %s changed", before[i].Type, before[i].Name)
			}
		}
	}
	if changed != 1 {
		t.Errorf("got %d changed resources, want 1", changed)
	}
}

// The IP family of the mesh selects the address of a pod. Pods without an address of the family are omitted.
func TestEndpointAddressFamily(t *testing.T) {
	four, six := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")
	for _, c := range []struct {
		family model.AddressFamily
		all    []netip.Addr
		want   string
	}{
		{model.AnyFamily, []netip.Addr{six, four}, "fd00::1"}, {model.IPv4Only, []netip.Addr{six, four}, "10.0.0.1"},
		{model.IPv6Only, []netip.Addr{four, six}, "fd00::1"}, {model.IPv6Only, []netip.Addr{four}, ""}, {model.AnyFamily, nil, ""},
	} {
		got := ""
		for _, e := range loadAssignment(pool(c.family, c.all)).Endpoints {
			got += e.LbEndpoints[0].GetEndpoint().Address.GetSocketAddress().Address
		}
		if got != c.want {
			t.Errorf("family %q, addresses %v: got %q, want %q", c.family, c.all, got, c.want)
		}
	}
}
