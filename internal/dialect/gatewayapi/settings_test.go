package gatewayapi

import (
	"encoding/json"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/gateway"
)

// The settings of the gateway enable the dialect, and it has no chart value of its own.
func TestSettingsAreThoseOfTheGateway(t *testing.T) {
	for text, want := range map[string]Settings{
		``:                                  {gateway.Settings{TrustDomain: "d", Namespace: "anymesh-gateway"}, false},
		`{"enabled": true}`:                 {gateway.Settings{TrustDomain: "d", Namespace: "anymesh-gateway"}, false},
		`{"gatewayAPI": {"enabled": true}}`: {gateway.Settings{TrustDomain: "d", Namespace: "anymesh-gateway"}, false},
		`{"enabled": true, "namespace": "edge", "trustedHops": 2, "gatewayAPI": {"enabled": true}}`: {
			gateway.Settings{TrustDomain: "d", Namespace: "edge", TrustedHops: 2}, true,
		},
	} {
		s := dialect.Settings{TrustDomain: "d"}
		if text != "" {
			s.Values = map[string]json.RawMessage{"ingress": json.RawMessage(text)}
		}
		d, err := Dialect{}.Configure(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.(Dialect).Settings; got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
		if reads := len(d.Kinds()) > 0; reads != want.Enabled {
			t.Errorf("%s: reads kinds: %v", text, reads)
		}
	}
	if (Dialect{}).Values() != nil {
		t.Error("the dialect has a chart value of its own")
	}
}
