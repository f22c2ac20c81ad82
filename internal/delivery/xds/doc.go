// Package xds serves configuration to sidecars over Envoy's Aggregated
// Discovery Service, in its incremental (delta) and state-of-the-world forms.
//
// In: for each workload key the resources its sidecars must know (Publish, or
// Update for a change), and an Authorizer that says which key a connecting
// client may have. Out: each client holds exactly the published resources that
// it subscribes to, and an Observer hears what each client accepted or
// rejected, and when it is gone.
//
// Resources are encoded once (NewResource) and the same bytes are written to
// every client, of every key and in both forms. A resource's version is a hash
// of its content: a delta client that reconnects, also to another or a restarted
// server, gets only what differs from the versions it reports. Nothing at all
// is sent before the first Publish of a key, so that a server that just started
// never empties a sidecar.
//
// Work grows with the change: a client has one set of names to look at again,
// into which changes merge while an earlier response awaits its ACK. There is
// no queue, and a client that does not read is cut off. Everything that a client
// sends or holds open has a limit; Limits lists them.
//
// The protocol is in session.go, subscription.go, versions.go, world.go, answer.go, order.go
// and table.go, without I/O; stream.go, writer.go, patience.go, admit.go, visitors.go and decode.go
// are its rim, over streams of internal/delivery/grpcserver. Rules are those of the "xDS REST and gRPC protocol" page
// of Envoy's documentation; TestProtocol follows its sections, and TestBadInput
// lists what broken and hostile clients send.
package xds
