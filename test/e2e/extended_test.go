package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestThirdPartyDrivers runs a program with third-party drivers, from a module of its own, beside Envoy.
func TestThirdPartyDrivers(t *testing.T) {
	installProgram(t, driverProgram(), fmt.Sprintf(`{image: %q, osm: {sidecarDrivers: [
		{sidecarName: envoy, sidecarImage: "anymesh.dev/envoy:0.1.0", proxyServerPort: 15128},
		{sidecarName: tiny, sidecarImage: %[1]q, proxyServerPort: 15129}, {sidecarName: tinypoll, sidecarImage: %[1]q, proxyServerPort: 15130}]}}`,
		driverImage))
	for _, class := range []string{"tiny", "tinypoll"} { // the control plane delivers for the first, not for the second
		t.Run(class, func(t *testing.T) { testTwoDrivers(t, class) })
	}
}

// TestTwoDialects runs a program with a second dialect beside App Mesh.
func TestTwoDialects(t *testing.T) {
	// The chart of the program contains the CRDs, webhooks and permissions of the second dialect.
	installProgram(t, extendedProgram(), fmt.Sprintf(`{image: %q, parcel: {port: 9090}}`, extendedImage))
	t.Cleanup(func() {
		if _, err := kubectl(contextOf(t), "delete", "crd", "virtualservices.parcel.example.com"); err != nil {
			t.Error(err)
		}
	})
	testTwoDialects(t)
}

// extendedProgram is the path of Anymesh with the second dialect of package extended.
func extendedProgram() string { return filepath.Join(lab.bin, "extended", "anymesh") }

// driverProgram is the path of Anymesh with the drivers of the module examples/driver.
func driverProgram() string { return filepath.Join(lab.bin, "driver", "anymesh") }

// installProgram replaces the control plane with another program until the test ends.
func installProgram(t *testing.T, program, values string) {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; build it with make %s", err, program)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := installAnymesh(contextOf(t)); err != nil {
			t.Error(err)
		}
	})
	if _, err := command(t.Context(), "", program, "install", "--kubeconfig", lab.kubeconfig, "--values", file); err != nil {
		t.Fatal(err)
	}
	// An API server calls webhooks of pods that end until it knows that they do.
	eventually(t, 10*time.Second, "the replaced pods of the control plane end", func() error {
		pods, err := lab.kube.CoreV1().Pods("anymesh-system").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if p.DeletionTimestamp != nil {
				return fmt.Errorf("%s ends", p.Name)
			}
		}
		return nil
	})
}

// extendedOutput runs a command of the extended program and fails the test on error.
func extendedOutput(t *testing.T, args ...string) string {
	return programOutput(t, extendedProgram(), args...)
}

// driverOutput runs a command of the program with more drivers and fails the test on error.
func driverOutput(t *testing.T, args ...string) string {
	return programOutput(t, driverProgram(), args...)
}

func programOutput(t *testing.T, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", lab.kubeconfig)...)
	var out, errorOutput bytes.Buffer
	c.Stdout, c.Stderr = &out, &errorOutput
	if err := c.Run(); err != nil {
		t.Fatalf("anymesh %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errorOutput.String())
	}
	return out.String()
}
