// Package envoy is the sidecar driver for Envoy.
//
// In: the view of a workload. Out: Envoy's configuration for it, as xDS v3 resources with the names of App Mesh
// (dashboards depend on them), and the container and bootstrap of the sidecar. Rendering is a pure function.
package envoy
