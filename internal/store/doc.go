// Package store holds the objects and the model as relations: the input and the output of the dialects' rules.
//
// In: added, updated and deleted objects; the rules of the dialects. Out: model items by key, findings by object, and
// the results of the package's own rules: the view of each workload and the outbound view that it shares, the endpoints
// of each destination, the workload of each pod, and the sidecarClasses of each workload's pods.
package store
