package model_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// The mode of a workload decides which names its agents answer, and which addresses tell its services apart.
func TestDNSModes(t *testing.T) {
	at := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }
	key := func(name string) model.Key { return model.Key{Mesh: "m", Name: name} }
	services := []model.Service{
		{Key: key("cluster"), Addresses: at("10.0.0.1")},
		{Key: key("headless"), Reserved: at("240.0.0.1")},
		{Key: key("unknown"), Aliases: []string{"Alias."}, Reserved: at("240.0.0.2"), Unresolved: true},
		{Key: key("no-address"), Unresolved: true},
	}
	m := model.Model{Meshes: []model.Mesh{{Name: "m"}}, Services: services}
	m.Workloads = []model.Workload{{Key: key("w"), BackendsAll: true}}
	for i, s := range services {
		m.Services[i].Router = s.Name
		m.Routers = append(m.Routers, model.Router{Key: s.Key, Ports: []model.RouterPort{{Port: 7, Protocol: model.TCP}}})
	}
	for _, name := range []string{"b", "a"} {
		m.Routers[0].Routes = append(m.Routers[0].Routes, model.Route{Protocol: model.TCP, Action: model.Action{
			Destinations: []model.WeightedDestination{{Destination: name, Weight: 1}},
		}})
		m.Destinations = append(m.Destinations, model.Destination{
			Key: key(name), Discovery: model.Discovery{Kind: model.DiscoverInstances, DNSName: "Pool.registry"},
		})
	}
	for mode, want := range map[model.DNSMode]string{
		model.DNSOff:        "cluster=10.0.0.1; conflicts: 3",
		model.DNSUnresolved: "cluster=10.0.0.1 unknown=240.0.0.2; conflicts: 2; alias=[240.0.0.2] pool.registry=[a b] unknown=[240.0.0.2]",
		model.DNSAll: "cluster=10.0.0.1 headless=240.0.0.1 unknown=240.0.0.2; conflicts: 1; " +
			"alias=[240.0.0.2] cluster=[10.0.0.1] headless=[240.0.0.1] pool.registry=[a b] unknown=[240.0.0.2]",
	} {
		t.Run(string(mode), func(t *testing.T) {
			m.Workloads[0].DNS = mode
			view, findings, _ := model.NewView(model.NewIndex(model.Merge(m)), key("w"))
			var bindings, hosts []string
			for _, b := range view.Outbound[0].Bindings {
				bindings = append(bindings, fmt.Sprintf("%s=%s", b.Service, b.Addresses[0]))
			}
			for _, h := range view.Hosts {
				hosts = append(hosts, fmt.Sprintf("%s=%s", h.Name, append(h.Destinations, texts(h.Addresses)...)))
			}
			got := fmt.Sprintf("%s; conflicts: %d", strings.Join(bindings, " "), len(findings))
			if len(hosts) > 0 {
				got += "; " + strings.Join(hosts, " ")
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func texts(addresses []netip.Addr) []string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return out
}
