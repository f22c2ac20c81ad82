// Package e2e tests the sandbox as users run it: the built program, kubectl and client-go with real clusters. All
// tests share one lab of two clusters, except tests of startup and shutdown.
//
// The tests require root, or a user who may create user namespaces. SANDBOX_BIN is the path of a program to test
// instead of a new build.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// shared by all tests, set by TestMain
var (
	sandboxBin string
	scratch    string // folder for labs, programs and image maps
	mapFile    string
	shared     *labUnderTest
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		fmt.Println("short: cluster tests are skipped")
		return 0
	}
	var err error
	if scratch, err = os.MkdirTemp("", "sandbox-e2e-"); err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if err := build(); err != nil {
		fmt.Println(err)
		return 1
	}
	shared = &labUnderTest{dir: filepath.Join(scratch, "shared")}
	if out, err := shared.up("--clusters=2"); err != nil {
		fmt.Println(err, out)
		return 1
	}
	defer shared.run("down")
	if err := shared.connect(); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// build builds the sandbox, the test program, an image with it, and an image map for both.
func build() error {
	sandboxBin = os.Getenv("SANDBOX_BIN")
	if sandboxBin == "" {
		sandboxBin = filepath.Join(scratch, "sandbox")
		if out, err := exec.Command("../build.sh", sandboxBin).CombinedOutput(); err != nil {
			return fmt.Errorf("building the sandbox: %w: %s", err, out)
		}
	}
	app := filepath.Join(scratch, "testapp")
	cmd := exec.Command("go", "build", "-trimpath", "-o", app, "../internal/testapp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the test program: %w: %s", err, out)
	}
	if err := writeArchive(app, filepath.Join(scratch, "image.tar")); err != nil {
		return fmt.Errorf("writing the OCI archive: %w", err)
	}
	mapFile = filepath.Join(scratch, "images.yaml")
	return os.WriteFile(mapFile, []byte(`images:
  example.com/testapp:
    program: testapp
    args: [-http=:8080, -grpc=:9090]
    env: [FROM_IMAGE=yes]
  example.com/packed:
    ociArchive: image.tar
  "example.com/tools/*":
    user: 1234
    workingDir: /work/here
    files: {/opt/testapp: testapp}
`), 0o644)
}
