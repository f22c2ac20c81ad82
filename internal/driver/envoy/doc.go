// Package envoy is the sidecar driver for Envoy.
//
// In: the view of a workload. Out: Envoy's configuration for it, as xDS v3 resources whose names are those that App Mesh
// gave them (dashboards depend on them), and the container and bootstrap that a pod needs. Rendering is a pure function.
package envoy
