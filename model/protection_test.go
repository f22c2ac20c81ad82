package model_test

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// What a driver cannot protect as asked for is not served, and an error. What only permits protection is served without
// it, and a warning.
func TestProtect(t *testing.T) {
	at := func(object, path string) model.Origin {
		return model.NewOrigin(model.ObjectRef{Kind: "K", Name: object}).At(path)
	}
	listener := func(port uint16, tls *model.ServerTLS) model.Inbound {
		if tls != nil {
			tls.Origin = at("w", fmt.Sprintf("tls of %d", port))
		}
		return model.Inbound{Listener: model.Listener{Port: port, Protocol: model.HTTP, TLS: tls, Origin: at("w", "listener")}}
	}
	secret := func(p model.SecretProvider) *model.Certificate {
		return &model.Certificate{Secret: model.Secret{Provider: p, Name: "s"}}
	}
	destination := func(name string, tls *model.ClientTLS) model.Destination {
		return model.Destination{Key: model.Key{Name: name}, TLS: tls, Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: "h"}}
	}
	view := model.View{
		Workload: model.Workload{Origin: at("w", "")},
		Inbound: []model.Inbound{
			listener(80, nil),
			listener(81, &model.ServerTLS{Mode: model.TLSStrict, Certificate: &model.Certificate{ChainFile: "f"}}),
			listener(82, &model.ServerTLS{Mode: model.TLSPermissive, Certificate: &model.Certificate{ChainFile: "f"}}),
			listener(83, &model.ServerTLS{Mode: model.TLSStrict, Certificate: secret(model.ProviderSocket)}),
			listener(84, nil),
		},
		OutboundView: model.OutboundView{Destinations: []model.Destination{
			destination("plain", nil),
			destination("required", &model.ClientTLS{Required: true}),
			destination("required2", &model.ClientTLS{Required: true}),
			destination("served", &model.ClientTLS{}),
			destination("shared", &model.ClientTLS{Required: true, Certificate: secret(model.ProviderSocket)}),
		}},
	}
	closed := view
	closed.Workload.Authorize = true
	open, findings := closed.Protect("tiny", map[model.Feature]bool{
		"listener.tls.Strict": true, "listener.tls.Permissive": true, "destination.tls": true, "tls.secret.Socket": true,
	})
	if len(open.Inbound)+len(open.Workload.Listeners) > 0 || len(findings) != 5 || findings[0].Severity != model.Error {
		t.Errorf("without authorization, the listeners are %v, the findings %v", open.Inbound, findings)
	}
	for name, c := range map[string]struct {
		supports  []model.Feature
		ports     string
		hostnames string
		findings  []string
	}{
		"nothing": {nil, "[80 82 84]", "plain served", []string{
			"Warning NotSupportedByDriver K w: driver tiny does not support destination.tls: connections to served use no TLS",
			"Error NotSupportedByDriver K w: driver tiny does not support destination.tls: the client policy for required and 2 others requires TLS, and requests get status 503",
			"Error NotSupportedByDriver K w tls of 81: driver tiny does not support listener.tls.Strict: the listener on port 81 requires TLS, and accepts no connections",
			"Warning NotSupportedByDriver K w tls of 82: driver tiny does not support listener.tls.Permissive: the listener on port 82 accepts connections without TLS only",
			"Error NotSupportedByDriver K w tls of 83: driver tiny does not support listener.tls.Strict: the listener on port 83 requires TLS, and accepts no connections",
		}},
		"TLS with files": {[]model.Feature{"listener.tls.Strict", "listener.tls.Permissive", "destination.tls"},
			"[80 81 82 84]", "plain required required2 served", []string{
				"Error NotSupportedByDriver K w: driver tiny does not support tls.secret.Socket: the client policy for shared requires TLS, and requests get status 503",
				"Error NotSupportedByDriver K w tls of 83: driver tiny does not support tls.secret.Socket: the listener on port 83 requires TLS, and accepts no connections",
			}},
		"everything": {model.AllFeatures(), "[80 81 82 83 84]", "plain required required2 served shared", nil},
	} {
		t.Run(name, func(t *testing.T) {
			supports := map[model.Feature]bool{}
			for _, f := range c.supports {
				supports[f] = true
			}
			got, findings := view.Protect("tiny", supports)
			var ports []uint16
			for i, in := range got.Inbound {
				ports = append(ports, in.Listener.Port)
				if tls := in.Listener.TLS; tls != nil && !supports["listener.tls."+model.Feature(tls.Mode)] {
					t.Errorf("the listener on port %d has TLS", in.Listener.Port)
				}
				if got.Workload.Listeners[i].Port != in.Listener.Port {
					t.Errorf("the listeners of the workload are %v", got.Workload.Listeners)
				}
			}
			var names []string
			for i, d := range got.Destinations {
				alone := model.ResolvedDestination{Destination: view.Destinations[i], Endpoints: []model.Endpoint{{}}}.Protect(supports)
				reachable := d.Discovery.Hostname != ""
				if (len(alone.Endpoints) > 0) != reachable || alone.Destination.Discovery.Hostname != d.Discovery.Hostname {
					t.Errorf("the resolved destination %s differs: %+v", d.Name, alone)
				}
				if reachable {
					names = append(names, d.Name)
				}
			}
			if fmt.Sprint(ports) != c.ports || strings.Join(names, " ") != c.hostnames {
				t.Errorf("got ports %v, destinations %v; want %s, %s", ports, names, c.ports, c.hostnames)
			}
			var texts []string
			for _, f := range findings {
				texts = append(texts, f.String())
			}
			if strings.Join(texts, "\n") != strings.Join(c.findings, "\n") {
				t.Errorf("got findings\n%s\nwant\n%s", strings.Join(texts, "\n"), strings.Join(c.findings, "\n"))
			}
		})
	}
}
