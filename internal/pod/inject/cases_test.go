package inject

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

var update = flag.Bool("update", false, "rewrite response.yaml and response.txt of the cases in testdata")

// TestCases runs each testdata/*.txtar: pod.yaml is created in a namespace with the labels of namespace.yaml, as a
// pod of workload.yaml, which defaults to a workload with a listener on port 8080. settings.yaml are settings of the
// dialect, mesh.yaml of the mesh. The output is the admitted pod
// (response.yaml), or the message of the response (response.txt), with warnings.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			inputs, output := map[string]string{}, txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				inputs[f.Name] = string(f.Data)
				if !strings.HasPrefix(f.Name, "response.") {
					output.Files = append(output.Files, f)
				}
			}
			name, text := runCase(t, inputs)
			if *update {
				output.Files = append(output.Files, txtar.File{Name: name, Data: []byte(text)})
				if err := os.WriteFile(path, txtar.Format(&output), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if inputs[name] != text {
				t.Errorf("%s: got\n%s\nwant\n%s", name, text, inputs[name])
			}
		})
	}
}

// configured returns the dialect with settings.
func configured(t *testing.T, settings string) dialect.Injection {
	t.Helper()
	values, err := yaml.YAMLToJSON([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	d, err := appmesh.Dialect{}.Configure(dialect.Settings{
		TrustDomain: "cluster.local", Values: map[string]json.RawMessage{"appmesh": values},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d.(dialect.Injection)
}

func runCase(t *testing.T, inputs map[string]string) (name, text string) {
	t.Helper()
	p := fakeCluster{workload: front()}
	if err := yaml.UnmarshalStrict([]byte(inputs["namespace.yaml"]), &p.labels); err != nil {
		t.Fatal(err)
	}
	if w, ok := inputs["workload.yaml"]; ok {
		p.workload = nil
		if strings.TrimSpace(w) != "none" {
			p.workload = &model.Workload{}
			if err := yaml.UnmarshalStrict([]byte(w), p.workload); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw := asJSON(t, inputs["pod.yaml"])
	webhook := newWebhook(p)
	webhook.Dialects = []dialect.Injection{configured(t, inputs["settings.yaml"])}
	if err := yaml.UnmarshalStrict([]byte(inputs["mesh.yaml"]), &webhook.Mesh.Sidecar); err != nil {
		t.Fatal(err)
	}
	response := webhook.Handle(t.Context(), request(raw))
	var out strings.Builder
	for _, w := range response.Warnings {
		out.WriteString("# warning: " + w + "\n")
	}
	switch {
	case !response.Allowed:
		out.WriteString("denied: " + response.Result.Message + "\n")
		return "response.txt", out.String()
	case len(response.Patches) == 0:
		out.WriteString(response.Result.Message + "\n")
		return "response.txt", out.String()
	}
	pod, err := yaml.JSONToYAML(admitted(t, raw, response))
	if err != nil {
		t.Fatal(err)
	}
	out.Write(pod)
	return "response.yaml", out.String()
}
