// Package pseudo has the clusters that connect to nothing: what they get stays in the proxy.
//
// In: the spec of a pseudo cluster and the metadata of a session. Out: a stream. Most return what they get, changed or
// not, so that they also serve in chains.
package pseudo
