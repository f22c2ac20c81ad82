package capture

import "net/netip"

// LoopbackSet is the name of the set of addresses at which the proxy reaches the application of its pod.
const LoopbackSet = "loopback"

// loopbacks are the loopback addresses of each family.
var loopbacks = map[Family]netip.Prefix{
	IPv4: netip.MustParsePrefix("127.0.0.0/8"), IPv6: netip.MustParsePrefix("::1/128"),
}

// addOwnPod adds the rules for an application that calls a Service of its own pod: what the proxy sends to an address
// of the pod is inbound traffic, with TLS and access control, as what it sends to other pods.
func (c Config) addOwnPod(t *Table) {
	if c.UID == nil || len(c.AppPorts) == 0 && !c.AllAppPorts {
		return
	}
	proxy, local := Match{Kind: SocketUID, ID: *c.UID}, Match{Kind: DestinationLocal}
	toApplication := []Match{proxy, {Kind: DestinationAddress, Set: LoopbackSet}}
	t.Outbound = append(t.Outbound, Rule{Matches: toApplication})
	if len(c.AppPorts) > 0 {
		t.Outbound = append(t.Outbound, Rule{
			Matches: []Match{proxy, local, {Kind: DestinationPort, Set: appPortsSet}}, Redirect: c.IngressPort,
		})
	}
	if c.AllAppPorts {
		if len(c.OpenPorts) > 0 {
			t.Outbound = append(t.Outbound, Rule{Matches: []Match{proxy, {Kind: DestinationPort, Set: openPortsSet}}})
		}
		t.Outbound = append(t.Outbound, Rule{Matches: []Match{proxy, local, {Kind: TCP}}, Redirect: c.IngressPort})
	}
}
