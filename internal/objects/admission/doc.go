// Package admission answers the API server about objects of the dialects that are created or changed.
//
// In: admission reviews. Out: the object with its defaults filled in, or the reason for which it is refused. The rules themselves
// are pure functions of the dialects; this package gathers what they look at, straight from the API server: a Namespace or a
// Mesh that was applied a moment ago counts.
package admission
