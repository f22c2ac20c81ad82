// Package admission serves the mutating and validating webhooks for objects of the dialects.
//
// In: admission reviews. Out: the object with defaults, or the reason of the denial. The rules are pure functions of
// the dialects. This package reads their input from the API server, not from a cache, so that a Namespace or Mesh that
// was just applied is included.
package admission
