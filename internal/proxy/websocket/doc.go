// Package websocket is the WebSocket protocol over HTTP/1.1 (RFC 6455), without extensions.
//
// In: a connection, and the heads of its handshake. Out: a stream of messages, which knows texts from other messages.
package websocket
