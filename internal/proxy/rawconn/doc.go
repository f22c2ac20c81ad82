// Package rawconn reads and writes sockets with system calls that the Go scheduler does not track.
//
// In: a TCP or unix stream connection of package net. Out: the same connection, whose reads and writes cost less.
// The scheduler tracks system calls because some block. Those on nonblocking sockets do not. A read that has to wait
// can do so without a buffer, so that idle connections need none.
package rawconn
