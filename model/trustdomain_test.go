package model

import (
	"slices"
	"testing"
)

const (
	cartID = "spiffe://cluster.local/ns/shop/sa/cart"
	nextID = "spiffe://next.example/ns/shop/sa/cart"
)

// meshInTwoDomains is a mesh whose root is being replaced by one of another trust domain.
func meshInTwoDomains() Mesh {
	return Mesh{TrustDomain: "cluster.local", TrustDomainAliases: []string{"next.example"}}
}

// Sidecars get each name of the mesh in both domains, whichever of them is named. Other names stay as they are, and
// what the model has does not change.
func TestNamesInAllTrustDomains(t *testing.T) {
	m := meshInTwoDomains()
	names := []string{nextID, "cart.example", "spiffe://other/ns/shop/sa/cart", "spiffe://next.example", cartID}
	want := []string{"cart.example", cartID, nextID, "spiffe://next.example", "spiffe://other/ns/shop/sa/cart"}
	slices.Sort(want)
	if got := m.inAllDomains(names); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	source := Identity{TrustDomain: "cluster.local", Namespace: "shop", Account: "cart"}
	view := &View{
		Mesh: m, AuthorizationPolicies: []AuthorizationPolicy{{Sources: []Identity{source}}},
		Inbound: []Inbound{{Listener: Listener{TLS: &ServerTLS{Validation: &Validation{Names: []string{cartID}}}}}},
		OutboundView: OutboundView{Destinations: []Destination{
			{TLS: &ClientTLS{Validation: &Validation{Names: []string{nextID}}}}, {},
		}},
	}
	both := []string{cartID, nextID}
	all := view.InAllTrustDomains()
	if got := all.Inbound[0].Listener.TLS.Validation.Names; !slices.Equal(got, both) {
		t.Errorf("the listener validates %v", got)
	}
	if got := all.Workload.Listeners[0].TLS.Validation.Names; !slices.Equal(got, both) {
		t.Errorf("the listener of the workload validates %v", got)
	}
	if got := all.Destinations[0].TLS.Validation.Names; !slices.Equal(got, both) {
		t.Errorf("the client validates %v", got)
	}
	if got := all.AuthorizationPolicies[0].Sources; len(got) != 2 || got[1].String() != nextID {
		t.Errorf("the policy allows %v", got)
	}
	if n := len(view.AuthorizationPolicies[0].Sources) + len(view.Inbound[0].Listener.TLS.Validation.Names) +
		len(view.Destinations[0].TLS.Validation.Names); n != 3 {
		t.Errorf("the view itself has %d names", n)
	}
	to := ResolvedDestination{Mesh: m, Destination: view.Destinations[0]}.InAllTrustDomains()
	if got := to.Destination.TLS.Validation.Names; !slices.Equal(got, both) {
		t.Errorf("the destination validates %v", got)
	}
	if got := view.OutboundView.InAllTrustDomains(m).Destinations[0].TLS.Validation.Names; !slices.Equal(got, both) {
		t.Errorf("the outbound view validates %v", got)
	}
	view.Mesh.TrustDomainAliases = nil
	if view.InAllTrustDomains() != view {
		t.Error("without aliases, the view is another one")
	}
}

func TestValidTrustDomain(t *testing.T) {
	for name, valid := range map[string]bool{
		"cluster.local": true, "a_b-1": true, "": false, "Example": false, "a/b": false, "a b": false, "a!b": false,
	} {
		if got := ValidTrustDomain(name); got != valid {
			t.Errorf("%q: %v", name, got)
		}
	}
}
