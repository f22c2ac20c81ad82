package osm

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
)

// A port that an older version of a TrafficTarget had stays when a file without ports is applied over it. The mark for
// the finding is there only if this file was applied last, and does not have the annotation of the port itself.
func TestPortThatAnOlderVersionLeft(t *testing.T) {
	const port, none = `{"apiVersion":"access.smi-spec.io/v1alpha1","destination":{"port":8080}}`,
		`{"apiVersion":"access.smi-spec.io/v1alpha3"}`
	const own = `{"apiVersion":"access.smi-spec.io/v1alpha3","metadata":{"annotations":{"anymesh.dev/smi-destination-port":"8080"}}}`
	for name, c := range map[string]struct {
		port, applied string
		left          bool
	}{
		"left": {"8080", none, true}, "applied with the port": {"8080", port, false}, "no port": {"", none, false},
		"in the file": {"8080", own, false}, "not applied": {"8080", "", false}, "no file": {"8080", "{", false},
	} {
		annotations := map[string]string{corev1.LastAppliedConfigAnnotation: c.applied, leftPort: "of a user"}
		if c.port != "" {
			annotations[keptPort] = c.port
		}
		out, err := markLeftPort(&access.TrafficTarget{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
		if err != nil {
			t.Fatal(err)
		}
		if _, left := out.(*access.TrafficTarget).Annotations[leftPort]; left != c.left {
			t.Errorf("%s: marked %v, want %v", name, left, c.left)
		}
	}
}
