// Package delivery renders views and publishes them to sidecars.
//
// In: changes of the engine, and the renderer of each driver. Out: the changed resources of each workload, published to
// the xDS server of its driver; and findings: features that the driver does not support, views that it cannot render,
// and resources that a sidecar rejected (NACK).
package delivery
