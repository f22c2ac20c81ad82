package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The images of the extended program: control planes with a second driver, and that driver's sidecar.
const (
	extendedImage = "anymesh.dev/anymesh:extended"
	tinyImage     = "anymesh.dev/tiny:extended"
)

// TestThirdPartyExtensions has the program of a third party: with a driver of its own beside Envoy, and a dialect of
// its own beside App Mesh.
func TestThirdPartyExtensions(t *testing.T) {
	extend(t)
	t.Run("drivers", driversServeSideBySide)
	t.Run("dialects", dialectsSideBySide)
}

// extendedProgram is Anymesh with the second driver and the second dialect of package extended.
func extendedProgram() string { return filepath.Join(lab.bin, "extended", "anymesh") }

// extendedImagesFile is the name of the image map for the extended program.
func extendedImagesFile() string { return filepath.Join(os.TempDir(), lab.name+"-images.yaml") }

// extendedImages writes an image map for the extended program, an empty one if it was not built, and gives its name.
func extendedImages() (string, error) {
	images := map[string]any{}
	if _, err := os.Stat(extendedProgram()); err == nil {
		program := map[string]string{"program": extendedProgram()}
		images[extendedImage], images[tinyImage] = program, program
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"images": images})
	if err != nil {
		return "", err
	}
	return extendedImagesFile(), os.WriteFile(extendedImagesFile(), text, 0o600)
}

// extend makes the control plane one of the extended program until the test ends.
func extend(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(extendedProgram()); err != nil {
		t.Fatalf("%v; make test builds it, and so does go build -o %s ./test/e2e/extended", err, extendedProgram())
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	text := fmt.Sprintf(`{image: %q, osm: {sidecarDrivers: [
		{sidecarName: envoy, sidecarImage: "anymesh.dev/envoy:0.1.0", proxyServerPort: 15128}, {sidecarName: tiny, sidecarImage: %q, proxyServerPort: 15129}]}, parcel: {port: 9090}}`,
		extendedImage, tinyImage)
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := anymesh(contextOf(t), "install", "--kubeconfig", lab.kubeconfig); err != nil {
			t.Error(err)
		}
		if _, err := kubectl(contextOf(t), "delete", "crd", "virtualservices.parcel.example.com"); err != nil {
			t.Error(err)
		}
	})
	// The chart of the extended program has the second dialect's kinds, webhooks and rights.
	if _, err := command(t.Context(), "", extendedProgram(), "install", "--kubeconfig", lab.kubeconfig, "--values",
		values); err != nil {
		t.Fatal(err)
	}
}
