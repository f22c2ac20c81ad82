package native

import (
	"net/netip"
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// A sidecar has listeners for its ports, for the requests on each outbound port, and for each stream. Each part is
// valid for the proxy.
func TestRenderSidecar(t *testing.T) {
	to := []model.WeightedDestination{{Destination: "d", Weight: 1}}
	http := model.Route{Name: "r", Protocol: model.HTTP, Action: model.Action{Destinations: to, Retry: model.Retry{
		Retries: 2, Conditions: []model.RetryCondition{model.RetryReset, model.RetryGRPCUnavailable},
	}}}
	tcp := model.Route{Name: "t", Protocol: model.TCP, Action: model.Action{Destinations: to}}
	mutual := &model.Validation{TrustSecret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://d"}}
	own := &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://d/x"}}
	v := &model.View{
		Mesh:     model.Mesh{Name: "m", Egress: model.EgressDeny, EgressNames: []string{"*.amazonaws.com"}},
		Workload: model.Workload{Role: model.RoleSidecar},
		Inbound: []model.Inbound{
			{Listener: model.Listener{Port: 80, Protocol: model.HTTP2, TLS: &model.ServerTLS{
				Mode: model.TLSStrict, Certificate: own, Validation: mutual,
			}}},
			{Listener: model.Listener{Port: 81, Protocol: model.TCP, TLS: &model.ServerTLS{Mode: model.TLSStrict}}},
		},
		OutboundView: model.OutboundView{
			Outbound: []model.Outbound{
				{Port: 8080, Bindings: []model.Binding{{Service: "a.b", Protocol: model.HTTP, Hosts: []string{"a.b"}, Routes: []model.Route{http}}}},
				{Port: 5432, Bindings: []model.Binding{{
					Service: "db", Protocol: model.TCP, MatchAddress: true, Routes: []model.Route{tcp},
					Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Pods: []netip.Addr{netip.MustParseAddr("10.1.0.1")},
				}}},
			},
			Destinations: []model.Destination{{Key: model.Key{Mesh: "m", Name: "d"}, Port: 9000, Protocol: model.TCP}},
		},
	}
	resources, findings := Driver{}.Render(v)
	if len(findings) > 0 {
		t.Errorf("findings %v", findings)
	}
	parts := map[string]*config.Config{}
	var names []string
	for _, r := range resources {
		parts[r.Name] = decode(t, r)
		names = append(names, r.Name)
	}
	slices.Sort(names)
	if want := []string{
		"listener/inbound/80", "listener/outbound/http/8080", "listener/outbound/names", "listener/outbound/tcp/5432/db",
		"listener/outbound/tcp/5432/db/pods", "service/8080/a.b", "stats",
	}; !slices.Equal(names, want) {
		t.Fatalf("got parts %v, want %v", names, want)
	}
	tls := parts["listener/inbound/80"].Listeners[0].Spec.TLS
	if tls == nil || tls.ClientCA != identityTrust || tls.Permissive {
		t.Errorf("got TLS %+v", tls)
	}
	retry := parts["service/8080/a.b"].RuleLists[0].Rules[0].Inline.Action.Route.Inline.Retry
	if !retry.Reset || !retry.Exact || retry.Retries() != 2 || !slices.Equal(retry.GRPCStatuses, []int{14}) {
		t.Errorf("got retry %+v", retry)
	}
	pods := parts["listener/outbound/tcp/5432/db/pods"]
	if to := pods.Clusters[0].Spec; to.To != config.ToOriginal || to.Port != 9000 {
		t.Errorf("pods lead to %+v", to)
	}
	// Egress of everything has one listener more, in place of that for names.
	v.Mesh.Egress = model.EgressAllow
	resources, _ = Driver{}.Render(v)
	if !slices.ContainsFunc(resources, func(r sidecar.Resource) bool { return r.Name == "listener/outbound/undeclared" }) {
		t.Error("no listener for undeclared connections")
	}
}
