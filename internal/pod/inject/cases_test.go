package inject

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/model"
)

var update = flag.Bool("update", false, "rewrite answer.yaml and answer.txt of the cases in testdata")

// TestCases runs each testdata/*.txtar: pod.yaml is created in namespace a, whose labels are namespace.yaml, as an
// instance of workload.yaml, or of the front that listens on 8080. The answer is the pod as it will be (answer.yaml),
// or why it is left as it is or refused, and warnings (answer.txt).
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
			given, answers := map[string]string{}, txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				given[f.Name] = string(f.Data)
				if !strings.HasPrefix(f.Name, "answer.") {
					answers.Files = append(answers.Files, f)
				}
			}
			name, text := answer(t, given)
			if *update {
				answers.Files = append(answers.Files, txtar.File{Name: name, Data: []byte(text)})
				if err := os.WriteFile(path, txtar.Format(&answers), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if given[name] != text {
				t.Errorf("%s: got\n%s\nwant\n%s", name, text, given[name])
			}
		})
	}
}

func answer(t *testing.T, given map[string]string) (name, text string) {
	t.Helper()
	p := fakeCluster{workload: front()}
	if err := yaml.UnmarshalStrict([]byte(given["namespace.yaml"]), &p.labels); err != nil {
		t.Fatal(err)
	}
	if w, ok := given["workload.yaml"]; ok {
		p.workload = nil
		if strings.TrimSpace(w) != "none" {
			p.workload = &model.Workload{}
			if err := yaml.UnmarshalStrict([]byte(w), p.workload); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw := asJSON(t, given["pod.yaml"])
	response := newWebhook(p).Handle(t.Context(), request(raw))
	var out strings.Builder
	for _, w := range response.Warnings {
		out.WriteString("# warning: " + w + "\n")
	}
	switch {
	case !response.Allowed:
		out.WriteString("refused: " + response.Result.Message + "\n")
		return "answer.txt", out.String()
	case len(response.Patches) == 0:
		out.WriteString(response.Result.Message + "\n")
		return "answer.txt", out.String()
	}
	pod, err := yaml.JSONToYAML(admitted(t, raw, response))
	if err != nil {
		t.Fatal(err)
	}
	out.Write(pod)
	return "answer.yaml", out.String()
}
