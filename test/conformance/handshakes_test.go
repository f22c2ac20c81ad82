package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHandshakes checks that two Envoys succeed and fail to connect as the interpreter decides, for the product of all
// modes and certificates of servers, and client policies with all certificates and names.
func TestHandshakes(t *testing.T) {
	binaries := envoyFolder(t)
	for _, name := range []string{"envoy", oldestEnvoy} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(binaries, name)
			if _, err := os.Stat(path); err != nil && os.Getenv("CI") != "" {
				t.Fatal(err)
			} else if err != nil {
				t.Skip(err)
			}
			lines, err := ObserveHandshakes(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if count, ok := strings.CutPrefix(line, handshakeCount); !ok {
					t.Error(line)
				} else if t.Log(count); strings.HasSuffix(count, ": 0") {
					t.Errorf("no handshake has this result: %s", count)
				}
			}
		})
	}
}

// oldestEnvoy is the name of the oldest supported version.
const oldestEnvoy = "envoy-1.36"

// envoyFolder returns the folder with the Envoy binaries. Without them or the rights to run pods, it skips the test.
func envoyFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	binary, err := FindEnvoy("../..")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	if binary, err = filepath.Abs(binary); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(binary)
}
