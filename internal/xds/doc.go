// Package xds serves configuration to sidecars over Envoy's Aggregated
// Discovery Service, in its incremental (delta) form.
//
// In: for each workload key the resources its sidecars must know (Publish, or
// Update for a change), and an Authorizer that says which key a connecting
// client may have. Out: each client holds exactly the published resources that
// it subscribes to, and an Observer hears what clients accepted or rejected.
//
// Resources are encoded once (NewResource) and the same bytes are written to
// every client. A resource's version is a hash of its content: a client that
// reconnects, also to another or a restarted server, gets only what differs
// from the versions it reports. Nothing at all is sent before the first Publish
// of a key, so that a server that just started never empties a sidecar.
//
// Work grows with the change: a client has one set of names to look at again,
// into which changes merge while an earlier response awaits its ACK. There is
// no queue, and a client that does not read is cut off.
//
// The protocol is in session.go, subscription.go, order.go and table.go, without I/O;
// stream.go, grpc.go and credentials.go are its rim. Rules are those of the
// "xDS REST and gRPC protocol" page of Envoy's documentation.
package xds
