// Package h2 speaks HTTP/2 (RFC 9113) as server and as client, and shows each stream as a connection with HTTP/1.1.
//
// In: a connection of a client or to an endpoint. Out: streams that are net.Conn: on the side of the server, reads
// return the text of one request and writes take that of its response; on the side of the client, the reverse. So there
// is one path for routing, retries, limits and bodies, and one canonical request that is checked in one place. Trailers
// are those of the last chunk. A WebSocket upgrade is an extended CONNECT (RFC 8441).
package h2
