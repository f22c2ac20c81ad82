// Package delivery takes views to sidecars.
//
// In: states of the flow, and the renderer that each driver gave. Out: what each workload's sidecars must know, published to the
// discovery server of their driver when it changed; and findings: what a view needs that the driver does not support, what it could not render, and
// what a sidecar refused.
package delivery
