// Package session connects accepted streams with clusters.
//
// In: a stream of a listener with its metadata, and the rules. Out: a session: connections to the destination and to
// the clusters of both chains, and data that moves through them until both directions have ended. Each connection is
// tried again as the route says. Sessions are listed with their history, also for a while after their end.
package session
