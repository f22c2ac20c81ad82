// Package inject injects sidecars into pods.
//
// In: the admission request of a new pod, and the workload of the pod. Out: the pod with traffic capture, agent and
// sidecar, or the reason of the denial. The package writes nothing to the cluster: a dry run gets the same response.
package inject
