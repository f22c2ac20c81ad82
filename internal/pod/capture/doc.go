// Package capture installs the packet rules that redirect the traffic of a pod to its proxy. It runs once, in an init
// container with CAP_NET_ADMIN, before the application starts.
//
// In: the ANYMESH_CAPTURE_* environment variables (FromEnv). Out: an nftables table named "anymesh" for each address
// family, installed in one transaction (Apply), or its text in the syntax of nft(8) (Rules.String).
//
//	inbound   TCP from another host to a listed port        → ingress port of the proxy
//	outbound  DNS questions to the nameservers of the pod,
//	          over UDP and TCP, with the same exceptions
//	          as TCP below                                  → DNS port of the agent
//	outbound  TCP to another host, unless sent by the user
//	          or group of the proxy, or to an ignored port
//	          or address                                    → egress port of the proxy
//
//	outbound  TCP of the proxy's user to a loopback address,
//	          if the application listens elsewhere          → address of the application
//
// Connections to the ports of the proxy that are not redirected are refused, from other hosts and from the pod.
//
// The refusals of the DNS port are dropped, so that applications repeat their questions while the agent restarts. The
// proxy's own questions are not tracked, so that applications can reuse their ports.
//
// All other traffic is not redirected: other UDP; loopback; the pod's own addresses; inbound ports that
// are not listed. The proxy reads the original destination with SO_ORIGINAL_DST.
//
// Rules is the model of both the text and the netlink messages, without I/O. netlink.go does the I/O. No other program
// is executed.
package capture
