// Package controlplane puts the parts of the control plane together and runs them.
//
// In: a connection to Kubernetes and the mesh's configuration. Out: a discovery server and a signing endpoint for sidecars, webhooks
// for the API server, statuses and events for users, metrics for operators. This is the only place where the parts meet.
package controlplane
