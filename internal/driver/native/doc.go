// Package native is the driver of Anymesh's own proxy (internal/proxy): for sidecars, whose traffic is captured, for
// pods whose applications speak to their proxy, and for gateways.
//
// In: the view of a workload, and its destinations with their endpoints. Out: one xDS resource for each listener, each
// service that a sidecar reaches and each destination, which is a part of the configuration of the proxy as JSON. The
// proxy applies them (internal/proxy/discovery). Proxies of l7mp without an agent get objects of their REST API, which
// are computed from the same resources; see restPusher.
package native
