// Package inject admits pods to the mesh.
//
// In: a pod that is about to be created, and the workload that it will be an instance of. Out: the pod with traffic capture,
// agent and sidecar, or the reason why it cannot be created. Nothing is written to the cluster: a dry run gets the same answer.
package inject
