package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Images that only tests use.
const (
	// extendedImage is the control plane with a second dialect.
	extendedImage = "anymesh.dev/anymesh:extended"
	// driverImage is the control plane with more drivers, and the sidecar of these drivers.
	driverImage = "example.com/tiny"
	// oldEnvoyImage is the sidecar with the oldest supported Envoy.
	oldEnvoyImage = "anymesh.dev/envoy:1.36"
	// pythonImage and muslImage are clients with the resolvers of Python and of musl.
	pythonImage = "anymesh.dev/call-python"
	muslImage   = "anymesh.dev/call-musl"
	// collectorImage receives spans and metrics.
	collectorImage = "anymesh.dev/collector"
	// contourImage is the third-party ingress controller.
	contourImage = "anymesh.dev/contour"
	// proxylessImage and proxylessPythonImage are applications with gRPC libraries that use xDS.
	proxylessImage       = "anymesh.dev/proxyless"
	proxylessPythonImage = "anymesh.dev/proxyless-python"
	// pipyImage is the sidecar of the driver pipy, if the machine has its program.
	pipyImage = "anymesh.dev/pipy"
	// solverImage solves challenges of cert-manager.
	solverImage = "anymesh.dev/acmesolver"
)

// image is an entry of the image map of the sandbox.
type image struct {
	Program    string            `json:"program,omitempty"`
	OCIArchive string            `json:"ociArchive,omitempty"`
	Files      map[string]string `json:"files,omitempty"`
}

// testImagesFile is the name of the image map for the images of tests.
func testImagesFile() string { return filepath.Join(os.TempDir(), lab.name+"-images.yaml") }

// writeTestImages writes the image map and returns its path. It omits images whose program was not built: pods with
// such an image do not start.
func writeTestImages() (string, error) {
	python, err := filepath.Abs("callers/call.py")
	if err != nil {
		return "", err
	}
	proxylessPython, err := filepath.Abs(filepath.Join(root, "test/proxyless/proxyless.py"))
	if err != nil {
		return "", err
	}
	oldEnvoy := filepath.Join(lab.bin, "envoy-1.36")
	images := map[string]image{}
	for _, i := range []struct {
		name, program string
		image
	}{
		{extendedImage, extendedProgram(), image{Program: extendedProgram()}},
		{driverImage, driverProgram(), image{Program: driverProgram()}},
		{oldEnvoyImage, oldEnvoy, image{
			OCIArchive: filepath.Join(lab.bin, "images", "envoy.tar"),
			Files:      map[string]string{"/usr/local/bin/envoy": oldEnvoy},
		}},
		{pipyImage, pipyProgram(), image{
			OCIArchive: filepath.Join(lab.bin, "images", "envoy.tar"), // it has a C library
			Files: map[string]string{
				"/usr/local/bin/pipy": pipyProgram(), "/usr/lib/libstdc++.so.6": library("libstdc++.so.6"),
				"/usr/lib/libgcc_s.so.1": library("libgcc_s.so.1"),
			},
		}},
		{pythonImage, python, image{Program: python}},
		{proxylessImage, filepath.Join(lab.bin, "proxyless"), image{Program: filepath.Join(lab.bin, "proxyless")}},
		{proxylessPythonImage, proxylessPython, image{Program: proxylessPython}},
		{muslImage, filepath.Join(lab.bin, "call-musl"), image{Program: filepath.Join(lab.bin, "call-musl")}},
		{collectorImage, filepath.Join(lab.bin, "collector"), image{Program: filepath.Join(lab.bin, "collector")}},
		{solverImage, filepath.Join(lab.bin, "certmanager"), image{Program: filepath.Join(lab.bin, "certmanager")}},
		{contourImage, filepath.Join(lab.bin, "contour"), image{Program: filepath.Join(lab.bin, "contour")}},
	} {
		if _, err := os.Stat(i.program); err == nil {
			images[i.name] = i.image
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"images": images})
	if err != nil {
		return "", err
	}
	return testImagesFile(), os.WriteFile(testImagesFile(), text, 0o600)
}

// pipyProgram is the path of pipy, from the variable PIPY or the search path; empty if the machine has none.
func pipyProgram() string {
	path, _ := exec.LookPath(cmp.Or(os.Getenv("PIPY"), "pipy"))
	return path
}

// library returns the path of a library of this machine, which has the same release of Debian as the images.
func library(name string) string {
	all, _ := filepath.Glob("/usr/lib/*-linux-gnu/" + name)
	return strings.Join(all[:min(1, len(all))], "")
}
