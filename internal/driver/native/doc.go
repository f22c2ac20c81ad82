// Package native is the driver of Anymesh's own proxy (internal/proxy), for pods whose applications speak to their
// proxy, and for gateways: it captures nothing.
//
// In: the view of a workload, and its destinations with their endpoints. Out: one xDS resource for each listener and
// each destination, which is a part of the configuration of the proxy as JSON. Package client applies them.
package native

// ResourceType is the xDS type of all resources: a part of a configuration of the proxy. With one type, the proxy gets
// listeners and clusters that belong together in one response.
const ResourceType = "type.googleapis.com/anymesh.proxy.Config"
