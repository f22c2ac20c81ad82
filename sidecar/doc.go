// Package sidecar is the contract between Anymesh and the drivers of sidecar proxies. Third parties build drivers on
// it.
//
// In: for each new pod an InjectorContext, for the running control plane a ControllerContext; both are found in the
// context that a Driver's methods get, under InjectorCtxKey and ControllerCtxKey. Out: what the driver's sidecar needs
// in the pod (Spec), and for every workload the configuration that its sidecars get (Renderer).
//
// What every driver would otherwise repeat is done once, behind this contract: the sidecar's uuid, traffic capture, the
// rewriting of probes, volumes, certificates, subscriptions and pushes.
package sidecar
