package manifest

import (
	"fmt"
	"strings"
	"testing"

	smi "anymesh.dev/anymesh/api/smi/split/v1alpha4"
)

// A kind is read in each version that an API server serves, and two documents of two versions are one object twice.
func TestServedVersions(t *testing.T) {
	document := func(version string) string {
		return fmt.Sprintf("{apiVersion: split.smi-spec.io/%s, kind: TrafficSplit, metadata: {name: web}, "+
			"spec: {service: web, backends: [{service: v1, weight: 1}], matches: [{kind: HTTPRouteGroup, name: x}]}}", version)
	}
	for _, version := range []string{"v1alpha2", "v1alpha3", "v1alpha4"} {
		set, _ := decode(t, document(version))
		if len(set.Faults) > 0 || len(set.Objects) != 1 {
			t.Fatalf("%s: %+v", version, set)
		}
		o, is := set.Objects[0].(*smi.TrafficSplit)
		if !is || len(o.Spec.Matches) != 1 || o.Spec.Backends[0].Weight != "1" {
			t.Errorf("%s: got %+v", version, set.Objects[0])
		}
	}
	other := strings.Replace(document("v1alpha2"), "weight: 1", "weight: 2", 1)
	set, _ := decode(t, other+"\n---\n"+document("v1alpha4"))
	if len(set.Objects) != 1 || len(set.Faults) != 1 {
		t.Errorf("%+v", set)
	}
}
