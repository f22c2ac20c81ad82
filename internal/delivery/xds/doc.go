// Package xds implements an xDS server: Envoy's Aggregated Discovery Service (ADS) in its incremental (delta) and
// state-of-the-world (SotW) variants.
//
// In: the resources of each workload key (Publish replaces them; many keys may share resources, of which Update
// changes some), and an Authorizer that maps a client to its key. Out: each client receives the published resources
// that it subscribes to; an Observer receives each client's ACKs, NACKs and disconnects, and the keys that are to be
// published: those with clients.
//
// A resource is encoded once (NewResource). The same bytes are sent to every client, for every key and in both
// variants. The version of a resource is a hash of its content. A delta client that reconnects, to any replica,
// receives only the resources that differ from its initial_resource_versions. The server sends nothing for a key
// before the first Publish of that key, so that a restarted server never empties a sidecar.
//
// Cost is proportional to the change. Each client has one set of dirty names; changes merge into it while an earlier
// response waits for its ACK. There is no queue. A client that does not read is disconnected. Every resource of the
// server that a client can use has a limit (Limits).
//
// The protocol is implemented without I/O in session.go, subscription.go, collection.go, sotw.go, ack.go, inflight.go,
// pending.go, versions.go, order.go, move.go, state.go, table.go, part.go and shared.go. stream.go, send.go,
// sendwatchdog.go, authorize.go, clientlimits.go, budget.go and decode.go connect it to gRPC streams of
// internal/delivery/grpcserver. The rules are those of "xDS REST and gRPC protocol" in Envoy's documentation.
// TestProtocol follows its sections; TestInvalidClients covers broken and hostile clients, and
// TestMemoryOfOneCertificate measures what they can use.
package xds
