// Package oam plans the objects of applications and workloads of OAM, as far as Routes need them.
//
// In: an ApplicationConfiguration with its Components and definitions, a ContainerizedWorkload or a PodSpecWorkload.
// Out: workloads and traits, Deployments and Services, and the status of the owner. The planners are pure functions.
package oam
