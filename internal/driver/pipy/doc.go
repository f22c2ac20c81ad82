// Package pipy is the driver of pipy, a proxy whose behavior is a program in PipyJS.
//
// In: views of workloads. Out: parts of config.json, which the control plane delivers over xDS, and the scripts that
// read it. Package repo, in the pod, serves both to pipy in its repo protocol.
package pipy
