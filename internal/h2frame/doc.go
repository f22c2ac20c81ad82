// Package h2frame has what servers and clients of HTTP/2 (RFC 9113) share that read and write frames by themselves.
//
// In: frames that golang.org/x/net/http2 has parsed. Out: encoded frames, checked heads of requests, and the state that
// the rules of the protocol need: windows, streams that have ended, and the rate of frames that cost their sender less
// than the receiver.
package h2frame
