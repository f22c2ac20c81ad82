package charts

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Chart, program and images are released together. Version reads the appVersion; whatever else names the version must
// say the same.
func TestOneVersion(t *testing.T) {
	var chart struct{ Version string }
	read(t, "anymesh/Chart.yaml", &chart)
	if chart.Version != Version() {
		t.Errorf("Chart.yaml: version is %s, appVersion is %s: set both to the same version", chart.Version, Version())
	}
	var values struct {
		Image string
		Osm   struct {
			SidecarDrivers []struct{ SidecarName, SidecarImage string }
		}
	}
	read(t, "anymesh/values.yaml", &values)
	images := map[string]string{"image": values.Image}
	for _, d := range values.Osm.SidecarDrivers {
		images["osm.sidecarDrivers["+d.SidecarName+"].sidecarImage"] = d.SidecarImage
	}
	if len(images) < 2 {
		t.Errorf("values.yaml: want the image of the control plane and those of sidecars, got %v", images)
	}
	for field, image := range images {
		if !strings.HasPrefix(image, "anymesh.dev/") || !strings.HasSuffix(image, ":"+Version()) {
			t.Errorf(
				"values.yaml: %s: %q: want an image of anymesh.dev with the tag %s, the appVersion of Chart.yaml",
				field,
				image,
				Version(),
			)
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := Anymesh.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
