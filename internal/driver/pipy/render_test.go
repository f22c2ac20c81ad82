package pipy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Nobody else decides who a client is: a policy allows the name in its certificate, and without TLS nobody is allowed.
func TestAllowed(t *testing.T) {
	client := model.Identity{TrustDomain: "cluster.local", Namespace: "shop", Account: "client"}
	mesh := model.Secret{Provider: model.ProviderMesh, Name: "spiffe://cluster.local"}
	tls := &model.ServerTLS{
		Mode: model.TLSStrict, Certificate: &model.Certificate{Secret: mesh},
		Validation: &model.Validation{TrustSecret: mesh},
	}
	render := func(protocol model.Protocol, tls *model.ServerTLS) Match {
		v := &model.View{
			Workload: model.Workload{Authorize: true},
			Inbound:  []model.Inbound{{Listener: model.Listener{Port: 80, Protocol: protocol, TLS: tls}}},
			AuthorizationPolicies: []model.AuthorizationPolicy{{
				Sources: []model.Identity{client}, Streams: protocol == model.TCP,
			}},
		}
		resources, _ := Driver{}.Render(v)
		var c Config
		if err := json.Unmarshal(resources[0].Body, &c); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(resources[0].Body), "PRIVATE") {
			t.Error("the configuration has a key")
		}
		return c.Inbound.TrafficMatches["80"]
	}
	http := render(model.HTTP, tls)
	rules := http.HTTPServiceRouteRules["inbound|80|local"].RouteRules
	if len(rules) != 1 || !slices.Equal(rules[0].AllowedServices, []string{client.DNSName()}) {
		t.Errorf("got rules %+v", rules)
	}
	if http.TLS.Key != "/run/anymesh/tls.key" || http.TLS.Trusted != "/run/anymesh/ca.crt" {
		t.Errorf("got TLS %+v", http.TLS)
	}
	if tcp := render(model.TCP, tls); tcp.Closed || !slices.Equal(tcp.TLS.Names, []string{client.DNSName()}) {
		t.Errorf("got %+v, %+v", tcp, tcp.TLS)
	}
	if tcp := render(model.TCP, nil); !tcp.Closed {
		t.Errorf("streams without TLS are served: %+v", tcp)
	}
	if plain := render(model.HTTP, nil).HTTPServiceRouteRules["inbound|80|local"].RouteRules; len(plain) != 0 {
		t.Errorf("requests without TLS are allowed: %+v", plain)
	}
}
