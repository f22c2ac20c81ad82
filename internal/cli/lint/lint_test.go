package lint_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/terminal"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

var update = flag.Bool("update", false, "rewrite the reports in testdata")

const reportFile = "report.txt"

// runLint lints files and folders.
func runLint(t *testing.T, renderer sidecar.Renderer, names ...string) *lint.Report {
	t.Helper()
	files, err := manifest.Read(names, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	o := lint.Options{Namespace: "default", Driver: "default"}
	if renderer != nil {
		o.Drivers = map[string]sidecar.Renderer{"default": renderer, "second": limited{without: "route.weights"}}
	}
	report, err := lint.Run(files, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// write writes a file of an archive, and makes its folder.
func write(f txtar.File) error {
	if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.Name, f.Data, 0o600)
}

// Each archive in testdata has manifests and the expected report. Together, the reports contain every finding code.
func TestReports(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no files in testdata", err)
	}
	seen := map[model.Code]bool{}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			at := -1
			for i, f := range archive.Files {
				if f.Name == reportFile {
					at = i
				} else if err := write(f); err != nil {
					t.Fatal(err)
				}
			}
			report := runLint(t, envoy.Driver{}, ".")
			for _, f := range report.Findings {
				seen[f.Code] = true
			}
			var got bytes.Buffer
			if err := report.Text(&got, terminal.Style{}); err != nil {
				t.Fatal(err)
			}
			if *update {
				archive.Files[at].Data = got.Bytes()
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != string(archive.Files[at].Data) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), archive.Files[at].Data)
			}
		})
	}
	// Sidecars report CodeRejected; TestUnsupportedFeatures tests CodeNotSupported, package store CodeNoAddress,
	// package engine CodeInternal, package finalizers CodePendingMembers, the cases of Ingresses
	// CodeFieldNotImplemented, those of pods CodeBypass.
	elsewhere := []model.Code{
		model.CodeRejected, model.CodeNotSupported, model.CodeNoAddress, model.CodeInternal, model.CodePendingMembers,
		model.CodeFieldNotImplemented, model.CodeBypass,
	}
	for _, c := range model.Codes {
		if !seen[c.Code] && !slices.Contains(elsewhere, c.Code) {
			t.Errorf("no report in testdata has a finding with code %s", c.Code)
		}
	}
}

// limited is a driver that does not support one feature.
type limited struct {
	envoy.Driver
	without model.Feature
}

func (l limited) Supports() map[model.Feature]bool {
	features := maps.Clone(l.Driver.Supports())
	delete(features, l.without)
	return features
}

func TestUnsupportedFeatures(t *testing.T) {
	const colors = "../../../examples/colors"
	if report := runLint(t, envoy.Driver{}, colors); len(report.Findings) > 0 {
		t.Errorf("got findings for the example: %v", report.Findings)
	}
	report := runLint(t, limited{without: "route.weights"}, colors)
	if len(report.Findings) != 1 || report.Findings[0].Code != model.CodeNotSupported || report.Findings[0].Line != 26 {
		t.Errorf("got %+v, want one finding for the route in color.yaml", report.Findings)
	}
}

// Lint checks each workload with the drivers of its pods: from the pod template, else from the namespace, else the
// default.
func TestFindingsPerDriverOfPods(t *testing.T) {
	const mesh = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: m}
spec: {namespaceSelector: {}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: a
  labels: {appmesh.k8s.aws/sidecarInjectorWebhook: enabled}
  annotations: {anymesh.dev/sidecarClass: %q}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front, namespace: a}
spec: {podSelector: {matchLabels: {app: front}}, listeners: [{portMapping: {port: 80, protocol: http}}],
  serviceDiscovery: {dns: {hostname: front.a}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: one, namespace: a}
spec: {template: {metadata: {labels: {app: front}, annotations: {anymesh.dev/sidecarClass: %q}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: two, namespace: a}
spec: {template: {metadata: {labels: {app: front}, annotations: {anymesh.dev/sidecarClass: %q}}}}
`
	const unknownDriver = `pods of this workload cannot be created: annotation anymesh.dev/sidecarClass names the unknown sidecar driver "nonsense"; known drivers are default, second`
	const notSupported = "driver second does not support listener.http"
	for name, c := range map[string]struct {
		namespace, one, two string
		want                []string
	}{
		"default":                          {"", "", "", nil},
		"driver of the namespace":          {"second", "", "", []string{notSupported}},
		"driver of one template":           {"", "", "second", []string{notSupported}},
		"templates override the namespace": {"second", "default", "default", nil},
		"unknown driver":                   {"", "nonsense", "", []string{unknownDriver}},
		"two drivers with findings":        {"second", "nonsense", "", []string{notSupported, unknownDriver}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mesh.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, mesh, c.namespace, c.one, c.two), 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := manifest.Read([]string{file}, strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			report, err := lint.Run(files,
				lint.Options{Driver: "default", Drivers: map[string]sidecar.Renderer{
					"default": envoy.Driver{}, "second": limited{without: "listener.http"},
				}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range report.Findings {
				got = append(got, f.Text)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("findings %q, want %q", got, c.want)
			}
		})
	}
}

// The paths of SARIF are URIs: relative ones for files below the working directory.
func TestSARIFPaths(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	const object = "{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {mode: 1}}"
	for name, want := range map[string]string{
		"mesh.yaml": "mesh.yaml", "a b/mäsh#1.yaml": "a%20b/m%C3%A4sh%231.yaml", "a:b.yaml": "./a:b.yaml",
		filepath.Join(folder, "a b/mäsh#1.yaml"): "a%20b/m%C3%A4sh%231.yaml",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(object), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(runLint(t, nil, name).SARIF(""))
		if err != nil {
			t.Fatal(err)
		}
		if want := `"uri":"` + want + `"`; !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s, want %s", name, text, want)
		}
	}
}

func TestSARIFRulesAndLocations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mesh.yaml")
	if err := os.WriteFile(file, []byte("\n# first\napiVersion: appmesh.k8s.aws/v1beta2\nkind: Mesh\nmetadata: {name: m}\nspec:\n  egress: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(runLint(t, nil, file).SARIF("1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID   string
						Help struct{ Text, Markdown string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name != "anymesh" ||
		log.Runs[0].Tool.Driver.Version != "1.2.3" {
		t.Fatalf("got log %s", text)
	}
	run := log.Runs[0]
	if len(run.Results) != 1 || len(run.Tool.Driver.Rules) != len(model.Codes) {
		t.Fatalf("got %s, want one result and all rules", text)
	}
	for _, rule := range run.Tool.Driver.Rules {
		if rule.Help.Text == "" || !strings.Contains(rule.Help.Markdown, "# "+rule.ID+"\n") {
			t.Errorf("rule %s: got help %+v, want the page of the finding", rule.ID, rule.Help)
		}
	}
	r := run.Results[0]
	if r.RuleID != "UnknownField" || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Level != "error" ||
		!strings.Contains(r.Message.Text, "spec.egress") {
		t.Errorf("got result %+v", r)
	}
	if at := r.Locations[0].PhysicalLocation; at.ArtifactLocation.URI != "file://"+filepath.ToSlash(file) ||
		at.Region.StartLine != 7 {
		t.Errorf("got location %+v", at)
	}
}
