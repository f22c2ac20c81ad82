// Package aggregate serves the objects of many member clusters as one Kubernetes API.
//
// In: Cluster and ResourceRegistry objects of the control plane, and requests with Kubernetes paths. Out: reads of
// registered kinds from the cache, writes and subresources from the member cluster that owns the object, and all other
// requests from the control plane, as the caller.
package aggregate
