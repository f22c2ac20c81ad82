package capture

import (
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
)

// untracked returns the rules that exempt the proxy's own questions, and their replies, from connection tracking. It
// would remember the port of such a question for 30 s: the question of an application from the same port would follow
// it to the nameserver, which does not know the names of the mesh. In reverse, the agent would ask itself.
//
// Replies of nameservers are for the proxy: the agent replies to applications.
func (c Config) untracked() (inbound, outbound []Rule) {
	var senders []Match
	if c.UID != nil {
		senders = append(senders, Match{Kind: SocketUID, ID: *c.UID})
	}
	if c.GID != nil {
		senders = append(senders, Match{Kind: SocketGID, ID: *c.GID})
	}
	for _, sender := range senders {
		for _, kind := range []Kind{DNSOverUDP, DNSOverTCP} {
			outbound = append(outbound, Rule{
				Matches:   []Match{sender, {Kind: DestinationAddress, Set: nameserversSet}, {Kind: kind}},
				Untracked: true,
			})
		}
	}
	for _, kind := range []Kind{DNSReplyOverUDP, DNSReplyOverTCP} {
		inbound = append(inbound, Rule{
			Matches: []Match{{Kind: SourceAddress, Set: nameserversSet}, {Kind: kind}}, Untracked: true,
		})
	}
	return inbound, outbound
}

// fromDNSPort matches a transport protocol and the source port of DNS servers.
func fromDNSPort(protocol byte) []expr.Any {
	return append(isProtocol(protocol), transportIs(sourcePort, binaryutil.BigEndian.PutUint16(dnsPort)...)...)
}

const sourcePort = 0 // offset in the TCP and UDP headers
