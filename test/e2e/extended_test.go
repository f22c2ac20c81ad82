package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestThirdPartyExtensions runs a program with a third-party driver beside Envoy and a third-party dialect beside App
// Mesh.
func TestThirdPartyExtensions(t *testing.T) {
	installExtended(t)
	t.Run("drivers", testTwoDrivers)
	t.Run("dialects", testTwoDialects)
}

// extendedProgram is the path of Anymesh with the second driver and dialect of package extended.
func extendedProgram() string { return filepath.Join(lab.bin, "extended", "anymesh") }

// installExtended replaces the control plane with the extended program until the test ends.
func installExtended(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(extendedProgram()); err != nil {
		t.Fatalf("%v; build it with make test or: go build -o %s ./test/e2e/extended", err, extendedProgram())
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	text := fmt.Sprintf(`{image: %q, osm: {sidecarDrivers: [
		{sidecarName: envoy, sidecarImage: "anymesh.dev/envoy:0.1.0", proxyServerPort: 15128}, {sidecarName: tiny, sidecarImage: %q, proxyServerPort: 15129}]}, parcel: {port: 9090}}`,
		extendedImage, tinyImage)
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := installAnymesh(contextOf(t)); err != nil {
			t.Error(err)
		}
		if _, err := kubectl(contextOf(t), "delete", "crd", "virtualservices.parcel.example.com"); err != nil {
			t.Error(err)
		}
	})
	// The chart of the extended program contains the CRDs, webhooks and permissions of the second dialect.
	if _, err := command(t.Context(), "", extendedProgram(), "install", "--kubeconfig", lab.kubeconfig, "--values",
		values); err != nil {
		t.Fatal(err)
	}
}
