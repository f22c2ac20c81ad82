package native_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/internal/driver/native"
	"anymesh.dev/anymesh/sidecar"
)

// The log level of a pod takes precedence over that of all sidecars. An unknown one is refused, but for a reference.
func TestLogLevel(t *testing.T) {
	for _, c := range []struct{ all, pod, want string }{
		{"", "", "error"}, {"error", "", "error"}, {"error", "debug", "debug"}, {"error", "$(LEVEL)", "$(LEVEL)"},
		{"error", "loud", ""}, {"loud", "", ""},
	} {
		injector := &sidecar.InjectorContext{
			Configurator: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: native.Name, SidecarImage: "i", LogLevel: c.all}},
			Proxy:        sidecar.ProxySettings{LogLevel: c.pod},
		}
		err := native.Driver{}.Patch(injector)
		if (err != nil) != (c.want == "") {
			t.Errorf("%+v: got error %v", c, err)
		}
		if err != nil {
			continue
		}
		command := injector.Sidecar.Command
		if i := slices.Index(command, "--log-level"); i < 0 || command[i+1] != c.want {
			t.Errorf("%+v: got command %v", c, command)
		}
	}
}
