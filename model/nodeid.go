package model

import "regexp"

// meshOwner matches the owner of a mesh in a node ID: mesh/NAME@OWNER/...
var meshOwner = regexp.MustCompile(`^(mesh/[^/@]+)@[^/]*/`)

// HasNode reports whether a node ID is of a sidecar of the workload. A sidecar has the owner of its mesh that was
// current when its pod was created: node IDs that differ in the owner only are of the same workload.
func (w *Workload) HasNode(id string) bool {
	return id == w.NodeID || withoutOwner(id) == withoutOwner(w.NodeID)
}

func withoutOwner(id string) string { return meshOwner.ReplaceAllString(id, "$1/") }
