package envoy

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"anymesh.dev/anymesh/model"
)

// Envoy resolves host names of fixed addresses, and takes socket files only without them.
func TestFixedAddresses(t *testing.T) {
	ip, name, file := model.StaticAddress{Host: "192.0.2.1", Weight: 3}, model.StaticAddress{Host: "a.example.com"},
		model.StaticAddress{Socket: "/run/a.sock"}
	for _, c := range []struct {
		addresses []model.StaticAddress
		kind      clusterv3.Cluster_DiscoveryType
		want      []string
	}{
		{[]model.StaticAddress{ip}, clusterv3.Cluster_STATIC, []string{"192.0.2.1"}},
		{[]model.StaticAddress{ip, file}, clusterv3.Cluster_STATIC, []string{"192.0.2.1", "/run/a.sock"}},
		{[]model.StaticAddress{name, ip}, clusterv3.Cluster_STRICT_DNS, []string{"a.example.com.", "192.0.2.1"}},
		{[]model.StaticAddress{name, file}, clusterv3.Cluster_STRICT_DNS, []string{"a.example.com."}},
	} {
		cluster := destinationCluster(model.Mesh{}, model.Destination{
			Key: model.Key{Mesh: "m", Name: "d"}, Port: 9000, Protocol: model.TCP,
			Discovery: model.Discovery{Kind: model.DiscoverStatic, Addresses: c.addresses},
		})
		if cluster.GetType() != c.kind {
			t.Errorf("%v: got type %v", c.addresses, cluster.GetType())
		}
		endpoints := cluster.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()
		if len(endpoints) != len(c.want) {
			t.Fatalf("%v: got endpoints %v", c.addresses, endpoints)
		}
		for i, e := range endpoints {
			address := e.GetEndpoint().GetAddress()
			got := address.GetSocketAddress().GetAddress() + address.GetPipe().GetPath()
			if got != c.want[i] || got == ip.Host && len(c.addresses) == 1 && e.GetLoadBalancingWeight().GetValue() != 3 {
				t.Errorf("%v: got endpoint %v", c.addresses, e)
			}
		}
		if err := cluster.ValidateAll(); err != nil {
			t.Errorf("%v: %v", c.addresses, err)
		}
	}
}
