// Package capture programs the packet rules that send a pod's traffic through
// its proxy. It runs once, in an init container with NET_ADMIN, before the app.
//
// In: App Mesh's ANYMESH_CAPTURE_* environment variables (FromEnv). Out: one nftables
// table named "anymesh" for each address family, put in place in one step
// (Apply), or its text as nft(8) would list it (Rules.String).
//
//	inbound   TCP to one of the listed ports, from elsewhere  → the proxy's ingress port
//	outbound  TCP to elsewhere, but not from the proxy's user
//	          or group, nor to an ignored port or address     → the proxy's egress port
//
// Everything else goes its way: UDP and so DNS, loopback, the pod's own
// addresses, inbound ports that are not listed. The proxy learns where a
// connection was going from SO_ORIGINAL_DST.
//
// Rules is what both the text and the netlink messages are made from, without
// I/O; netlink.go is the rim. No other program is run.
package capture
