// Package admission serves the mutating and validating webhooks for objects of the dialects.
//
// In: admission reviews. Out: the object with defaults, or the reason of the denial. The rules are pure functions of
// the dialects. Their input is from the cache: a review makes no request to the API server. If the cache does not have
// a Namespace or Mesh that was just applied, the review waits for it.
package admission
