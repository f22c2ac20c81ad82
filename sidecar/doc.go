// Package sidecar is the contract between Anymesh and the drivers of sidecar proxies, which third parties can
// implement.
//
// In: for each new pod an InjectorContext, for the control plane a ControllerContext. The methods of a Driver find
// them in their context, with the keys InjectorCtxKey and ControllerCtxKey. Out: the requirements of the sidecar in
// the pod (Spec), and the configuration of the sidecars of each workload (Renderer).
//
// The caller of the driver implements the common parts: the sidecar's UUID, traffic capture, probe rewriting,
// volumes, certificates, subscriptions and pushes.
package sidecar
