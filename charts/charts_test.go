package charts

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOneVersion checks that chart, program and images have the same version.
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
		t.Errorf("values.yaml: want the control plane image and sidecar images, got %v", images)
	}
	for field, image := range images {
		t.Run(field, func(t *testing.T) {
			if !strings.HasPrefix(image, "anymesh.dev/") || !strings.HasSuffix(image, ":"+Version()) {
				t.Errorf("values.yaml: image %q, want anymesh.dev/NAME:%s, the appVersion of Chart.yaml", image, Version())
			}
		})
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
