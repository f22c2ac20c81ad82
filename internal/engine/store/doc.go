// Package store has the objects and the model as relations: what dialects read, and what they emit.
//
// In: objects, as they come, change and go; rules of dialects. Out: the items of the model by key, findings by object, and rules of its
// own on top: the view of each workload, what each destination leads to, and which workload a pod is an instance of.
package store
