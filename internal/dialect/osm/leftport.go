package osm

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
)

// leftPort marks, in the cache, a TrafficTarget with the port of an older version which the file that was applied last
// does not have: kubectl apply removes only what the file before it had.
const leftPort = keptPrefix + "port-left"

// markLeftPort sets the mark.
func markLeftPort(object any) (any, error) {
	target, is := object.(*access.TrafficTarget)
	if !is {
		return object, nil
	}
	delete(target.Annotations, leftPort)
	port, kept := target.Annotations[keptPort]
	if kept && leavesPort(target.Annotations[corev1.LastAppliedConfigAnnotation]) {
		target.Annotations[leftPort] = port
	}
	return target, nil
}

// leavesPort reports whether a file is of a version without ports, and has no annotation for one.
func leavesPort(applied string) bool {
	var file struct {
		APIVersion string `json:"apiVersion"`
		Metadata   struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(applied), &file) != nil || file.APIVersion != access.GroupVersion.String() {
		return false
	}
	_, has := file.Metadata.Annotations[keptPort]
	return !has
}
