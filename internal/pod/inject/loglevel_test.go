package inject

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/sidecar"
)

// TestLogLevelOfPod checks that a pod with a log level of its own keeps it: its agent sets no other.
func TestLogLevelOfPod(t *testing.T) {
	for own, sets := range map[string]bool{"": true, "debug": false, "$(LEVEL)": false} {
		arguments := agentArguments(&sidecar.InjectorContext{
			Proxy: sidecar.ProxySettings{LogLevel: own}, Sidecar: &sidecar.Spec{LogLevelSocket: "/admin.sock"},
		}, controlPlane{})
		i := slices.Index(arguments, "--log-level-socket")
		if (i >= 0 && arguments[i+1] == "/admin.sock") != sets {
			t.Errorf("level %q: arguments %q", own, arguments)
		}
	}
}
