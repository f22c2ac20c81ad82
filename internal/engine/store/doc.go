// Package store has the objects and the model as relations: what dialects read, and what they emit.
//
// In: objects, as they come, change and go; rules of dialects. Out: the items of the model by key, findings by object, and rules of its
// own on top: the view of each workload, what each destination leads to, which workload a pod is an instance of, and which sidecar drivers
// the pods of a workload have.
package store
