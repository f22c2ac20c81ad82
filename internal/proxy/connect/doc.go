// Package connect connects to endpoints of clusters.
//
// In: a cluster, an endpoint, and the metadata of a session. Out: a stream of the cluster's protocol.
package connect
