package capture

const localPortsSet = "local_ports"

// addApplication adds the rules for an application that listens on the address of the pod only.
func (c Config) addApplication(t *Table) {
	own := filterFamily(c.AppAddresses, t.Family)
	if len(own) == 0 || c.UID == nil {
		return
	}
	proxy := Match{Kind: SocketUID, ID: *c.UID}
	if len(c.ProxyPorts) > 0 {
		t.Sets = append(t.Sets, Set{Name: localPortsSet, Ports: c.ProxyPorts})
		t.Outbound = append(t.Outbound, Rule{Matches: []Match{proxy, {Kind: DestinationPort, Set: localPortsSet}}})
	}
	t.Outbound = append(t.Outbound, Rule{
		Matches: []Match{proxy, {Kind: TCP}, {Kind: DestinationAddress, Set: LoopbackSet}}, Address: own[0].Addr(),
	})
}
