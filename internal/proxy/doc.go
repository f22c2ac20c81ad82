// Package proxy is a proxy that connects any protocol with any other one.
//
// In: a configuration of listeners, clusters, rules and routes, and changes of it. Out: sessions. It knows nothing of
// Kubernetes, and imports no package of the mesh.
package proxy
