package delivery_test

import (
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// TestLogLevel changes the log level of MeshConfig: workloads of its mesh get it, otherwise that of the control plane.
func TestLogLevel(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	d := delivery.New(discard, delivery.Class{Name: envoy.Name, Default: true, LogLevel: "error"}, func() {})
	e := engine.New(discard, []dialect.Dialect{osm.Dialect{}}, engine.Settings{}, d.Deliver)
	d.Connect(e, &recordingPublisher{Server: xds.NewServer(byNode, xds.Options{Observer: d, Logger: discard})})
	d.SetRenderer(envoy.Driver{})
	set := func(text string, o client.Object) {
		t.Helper()
		if err := yaml.Unmarshal([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		e.Set(o)
	}
	set(`metadata: {name: a, labels: {openservicemesh.io/monitored-by: osm}}`, &corev1.Namespace{})
	set(`
metadata: {name: p, namespace: a, uid: p, labels: {anymesh.dev/proxy-uuid: p}}
spec: {serviceAccountName: default}`, &corev1.Pod{})
	ref := xds.Ref{TypeURL: sidecar.SettingType, Name: sidecar.LogLevelSetting}
	versions := map[string]string{}
	levelOf := func(level string) string {
		t.Helper()
		set(fmt.Sprintf(`
metadata: {name: osm-mesh-config, namespace: osm-system, resourceVersion: "%d"}
spec: {sidecar: {logLevel: %s}}`, len(versions)+1, level), &config.MeshConfig{})
		e.Sync()
		return d.VersionOf(model.Key{Mesh: "osm", Name: "a/default"}, ref)
	}
	for _, c := range []struct{ level, same string }{
		{`""`, ""}, {"debug", ""}, {"error", `""`}, {"warn", ""}, {"warning", "warn"}, {"loud", `""`},
	} {
		versions[c.level] = levelOf(c.level)
		if c.same != "" && versions[c.level] != versions[c.same] {
			t.Errorf("%s is another level than %s", c.level, c.same)
		}
	}
	if versions[`""`] == "" || versions["debug"] == versions[`""`] || versions["warn"] == versions["debug"] {
		t.Errorf("versions of levels: %v", versions)
	}
}
