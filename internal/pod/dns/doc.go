// Package dns is the DNS server of a pod: it answers names of the mesh and forwards all other questions to the DNS
// server of the cluster.
//
// In: questions of the applications in the pod (UDP and TCP, on loopback addresses), the table of names (SetNames), and
// the nameservers and search domains of resolv.conf (ReadConfig). Out: answers.
//
//	name in the table, or such a name followed by a search domain   answer from the table, for every type
//	such a name whose addresses are not known yet                   the same, after Config.Requested and SetNames
//	any other question, and any message that is no plain question   the reply of the nameserver, byte by byte
//	a response, or a message that is shorter than a header          dropped
//
// For a name in the table, A and AAAA questions get the addresses in random order. Other types, and families that the
// name or the pod does not have, get NOERROR with an SOA record and no answer (RFC 2308), never NXDOMAIN.
//
// Answers from the table over UDP have at most 512 bytes without EDNS. With EDNS, they have at most the size that the
// client allows and at most 1232 bytes, which is the size that avoids IP fragments. Longer answers are truncated, and
// the client repeats the question over TCP.
//
// A forwarded question uses the transport of the client. Each attempt has a socket of its own, and therefore a random
// source port. The nameservers are tried in the order of resolv.conf, repeatedly, until the client is about to give up.
// Then the client gets SERVFAIL.
//
// Only the first message of a zone transfer (AXFR) is forwarded.
package dns
