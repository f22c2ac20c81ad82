// Package grpcserver is a gRPC server for long-lived streams of many mostly idle clients.
//
// In: connections of a listener, and for each method a function that creates the StreamHandler of a new stream. Out:
// the messages of a stream, one at a time, and its end; and a Stream that sends messages. The parts of a sent message
// may be shared with other streams.
//
// A general gRPC server runs three goroutines and several queues per client. Here a few goroutines
// (socket.WorkerPool) read all connections. The goroutine that reads a message also handles it, and the goroutine that
// sends a message also writes it to the socket. An idle client has no goroutine and no buffers; a message costs one
// read and one write. golang.org/x/net/http2 parses frames and headers, crypto/tls encrypts.
//
// The package implements the server part of RFC 9113 (HTTP/2) and of gRPC's "gRPC over HTTP2". It does not implement
// compression, metadata and deadlines: long-lived streams do not need them, and a client whose deadline has passed
// resets its stream itself.
//
// A server that shuts down, and a connection after its maximum age, are drained (drain.go): GOAWAY first, then the end
// of the streams. The gRPC health service reports a shutdown (health.go). TestH2spec runs the conformance tests of
// HTTP/2.
//
// All input has a limit: frames, headers, messages, streams, flow-control windows, and the rate of control frames and
// empty frames (floodguard.go).
package grpcserver
