// Package rewrite maps the bodies of writes between the aggregated view and a member cluster.
//
// In: a JSON or YAML body with a global resource version and the cluster annotation, or a member's answer. Out: the
// body with the version of the member and without the annotation, or the answer with both. Other fields are unchanged.
package rewrite
