// Package discovery keeps the configuration of a proxy in a pod equal to what the control plane renders for it.
//
// In: a delta xDS stream with parts of a configuration as JSON, which the agent of the pod relays. Out: the
// configuration of the proxy, and an answer to each response: parts that the proxy refuses are rejected, and the ones
// before stay. Without a connection, the proxy keeps what it has.
package discovery
