// Package cluster chooses the endpoint of a session.
//
// In: the endpoints of a cluster, which may change at any time, and the metadata of a session. Out: an endpoint. The
// choice by hash is the same in all proxies that have the same endpoints, in any order.
package cluster
