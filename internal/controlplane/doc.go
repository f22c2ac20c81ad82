// Package controlplane assembles and runs the control plane.
//
// In: a Kubernetes client configuration and the mesh configuration. Out: an xDS server and a signing endpoint for
// sidecars, webhooks for the API server, statuses and events for users, metrics for operators. Only this package
// connects the other packages.
package controlplane
