// Package grpcserver serves gRPC calls that last, to many clients that mostly
// wait.
//
// In: connections of a listener, and for each method a function that makes a
// Call of each stream that a client opens. Out: the messages of a stream, one
// after the other, and at last its end; and a Stream that sends messages whose
// parts may be shared with other streams.
//
// A general gRPC server has three goroutines and several queues for each client,
// and passes a message from one to the next. Here a few goroutines (socket.WorkerPool)
// read all connections, and whoever reads a message also takes it in; whoever sends
// one writes it to the socket. A client that waits has no goroutine and no buffers, and
// a message costs one read and one write. Frames and headers are parsed by
// golang.org/x/net/http2, encryption is crypto/tls.
//
// What it serves is in RFC 9113 (HTTP/2) and in gRPC's "gRPC over HTTP2"; what it
// leaves out, because calls that last have no use for it, is compression, metadata
// of either side, and deadlines: a client whose deadline has passed resets its
// stream itself.
//
// Whatever a client sends is bounded: frames, headers, messages, streams, windows
// of flow control, and how often it may call for an answer (calm.go).
package grpcserver
