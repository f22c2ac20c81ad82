// Package delivery renders views and publishes them to sidecars.
//
// In: changes of the engine, clients that connect and disconnect, and the renderer of each driver. Out: the changed
// resources of each workload with clients, published to the xDS server of its driver; and findings about all workloads:
// features that the driver does not support, views that it cannot render, and resources that a sidecar rejected (NACK).
//
// Most workloads have no clients at a replica of the control plane. They are rendered for their findings only: the
// resources are not encoded and not kept, and destinations, which have no findings, are not rendered. When the first
// client connects, its workload is rendered and published before the first request is handled. The resources are
// dropped one minute after the last client disconnected. An error that can only be found with all resources of a
// workload, a name that two of its parts have, becomes a finding when a client connects. After an error, only workloads
// that are published keep their last good configuration.
package delivery
