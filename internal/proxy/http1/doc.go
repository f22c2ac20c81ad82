// Package http1 parses and writes the heads and bodies of HTTP/1 messages (RFC 9112).
//
// In: bytes of a connection. Out: fields that refer to these bytes, without copies. What is ambiguous is refused, never
// repaired: a proxy that repairs a message may see another one than the server behind it.
package http1
