// Package fleet connects to member clusters.
//
// In: Cluster objects and their Secrets. Out: members, with connections to their API servers, identities and kinds; and
// the conditions of the Clusters.
package fleet
