// Package datagram has UDP as streams of messages: sessions of the peers of a listener, and connected sockets.
//
// In: packets of one socket. Out: for each peer a stream, in which the packets keep their order; none is lost or
// doubled while the session is set up, unless its queue is full. Streams without packets for a while end.
package datagram
