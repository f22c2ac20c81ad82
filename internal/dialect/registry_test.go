package dialect_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

func TestEachDialectHasAFolderWithAReadme(t *testing.T) {
	folders := map[string]bool{"builtin": true}
	for _, d := range dialect.All() {
		folders[d.Name()] = true
		t.Run(d.Name(), func(t *testing.T) {
			if _, err := os.Stat(d.Name() + "/README.md"); err != nil {
				t.Error(err)
			}
			if d.Title() == "" {
				t.Error("no title")
			}
			g := incremental.New()
			m := store.NewModel(g)
			d.Rules(g, store.NewObjects(g), m)
			g.Run()
			if len(m.Snapshot().Meshes) > 0 || len(m.AllFindings()) > 0 {
				t.Error("the result for no objects is not empty")
			}
		})
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !folders[e.Name()] {
			t.Errorf("folder %s is not in the list of package builtin", e.Name())
		}
	}
}

func TestRegisterPanicsOnDuplicateName(t *testing.T) {
	defer func() {
		if got := recover(); got != "dialect: Register called twice for dialect appmesh" {
			t.Errorf("panic %v", got)
		}
	}()
	for _, d := range dialect.All() {
		dialect.Register(d)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"defaults":        {`{}`, ""},
		"known":           {`{"appmesh": {"defaultRetry": false}}`, ""},
		"unknown dialect": {`{"appmash": {}}`, "settings of dialect appmash: no such dialect with settings; dialects with settings: appmesh"},
		"unknown field":   {`{"appmesh": {"retry": false}}`, `settings of dialect appmesh: json: unknown field "retry"`},
		"relative socket": {
			`{"appmesh": {"sds": {"enabled": true, "udsPath": "agent.sock"}}}`,
			`settings of dialect appmesh: sds.udsPath: "agent.sock" is not the absolute path of a socket`,
		},
		"no Secret": {
			`{"appmesh": {"acm": {"certificates": {"arn:a": "../b"}}}}`,
			`settings of dialect appmesh: acm.certificates: arn:a: "../b" is not the name of a Secret`,
		},
		"unknown tracer": {
			`{"appmesh": {"tracing": {"enabled": true, "provider": "zipkin"}}}`,
			`settings of dialect appmesh: tracing.provider: "zipkin" is not one of datadog, jaeger, opentelemetry, x-ray`,
		},
		"tracer without a receiver": {
			`{"appmesh": {"tracing": {"enabled": true, "provider": "jaeger"}}}`,
			`settings of dialect appmesh: tracing.address: "" is not a host name, an IP address or ref:status.hostIP`,
		},
		"sampling rate as a number": {`{"appmesh": {"tracing": {"enabled": true, "samplingRate": 0.5}}}`, ""},
		"sampling rate": {
			`{"appmesh": {"tracing": {"enabled": true, "samplingRate": "5%"}}}`,
			`settings of dialect appmesh: tracing.samplingRate: "5%" is not a number from 0 to 1`,
		},
		"no image of X-Ray": {
			`{"appmesh": {"tracing": {"enabled": true}, "xray": {"image": ""}}}`,
			`settings of dialect appmesh: xray.image: set the image of the X-Ray daemon`,
		},
		"receiver of metrics": {
			`{"appmesh": {"stats": {"statsdAddress": "statsd.example"}}}`,
			`settings of dialect appmesh: stats.statsdAddress: "statsd.example" is neither an IP address nor ref:status.hostIP`,
		},
		"socket of metrics": {
			`{"appmesh": {"stats": {"statsdSocketPath": "statsd.sock"}}}`,
			`settings of dialect appmesh: stats.statsdSocketPath: "statsd.sock" is not the absolute path of a socket`,
		},
		"resources": {`{"appmesh": {"sidecar": {"resources": {"requests": {"cpu": 1, "memory": "32Mi"}, "limits": {"cpu": ""}}}}}`, ""},
		"resources without a unit": {
			`{"appmesh": {"sidecar": {"resources": {"limits": {"memory": "32MB"}}}}}`,
			`settings of dialect appmesh: sidecar.resources.limits.memory: "32MB" is not a quantity`,
		},
		"value of another dialect": {
			`{"gatewayapi": {}}`,
			"settings of dialect gatewayapi: no such dialect with settings; dialects with settings: appmesh, ingress",
		},
		"gateway":       {`{"ingress": {"enabled": true, "gatewayAPI": {"enabled": true}}}`, ""},
		"wrong gateway": {`{"ingress": {"gatewayAPI": {"enable": true}}}`, `settings of dialect ingress: json: unknown field "enable"`},
		"wrong type":    {`{"appmesh": {"awsEgress": "no"}}`, "settings of dialect appmesh: json: cannot unmarshal string"},
	} {
		t.Run(name, func(t *testing.T) {
			var s dialect.Settings
			if err := json.Unmarshal([]byte(c.values), &s.Values); err != nil {
				t.Fatal(err)
			}
			_, err := dialect.Configured(s)
			if got := errorText(err); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
