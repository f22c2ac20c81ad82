package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// dryRun returns the manifests that install --dry-run prints.
func dryRun(t *testing.T, arguments ...string) []*unstructured.Unstructured {
	t.Helper()
	code, out, stderr := runCommand(t, append([]string{"install", "--dry-run"}, arguments...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(strings.TrimPrefix(out, "---\n"), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
			t.Errorf("not a Kubernetes object:\n%s", document)
		}
		all = append(all, o)
	}
	return all
}

func replicas(t *testing.T, all []*unstructured.Unstructured) int64 {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == "Deployment" {
			n, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if err != nil {
				f, _, _ := unstructured.NestedFloat64(o.Object, "spec", "replicas")
				n = int64(f)
			}
			return n
		}
	}
	t.Fatal("no Deployment")
	return 0
}

func TestDryRunPrintsManifests(t *testing.T) {
	kinds := map[string]int{}
	for _, o := range dryRun(t, "-n", "elsewhere") {
		kinds[o.GetKind()]++
		// The addresses of the API servers are in the namespace default.
		if ns := o.GetNamespace(); ns != "" && ns != "elsewhere" && o.GetName() != "anymesh-api-servers" {
			t.Errorf("%s %s is in namespace %s", o.GetKind(), o.GetName(), ns)
		}
	}
	for _, kind := range []string{
		"Namespace", "CustomResourceDefinition", "Deployment", "Service", "ConfigMap", "MutatingWebhookConfiguration",
		"ValidatingWebhookConfiguration",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
	for _, o := range dryRun(t, "--skip-crds") {
		if o.GetKind() == "CustomResourceDefinition" {
			t.Errorf("--skip-crds: got %s", o.GetName())
		}
	}
}

// As in Helm, --set overrides files, later files override earlier ones, and files override the chart values.
func TestValuePrecedence(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	five, six := file("five.yaml", "replicas: 5\nosm: {sidecarLogLevel: info}\n"), file("six.yaml", "replicas: 6\n")
	for _, c := range []struct {
		text      string
		arguments []string
		want      int64
	}{
		{"file", []string{"-f", five}, 5},
		{"the last file wins", []string{"-f", five, "-f", six}, 6},
		{"file names do not matter", []string{"-f", six, "-f", five}, 5},
		{"--set wins over files", []string{"--set", "replicas=7", "-f", six}, 7},
		{"the last --set wins", []string{"--set", "replicas=7", "--set", "replicas=8"}, 8},
	} {
		t.Run(c.text, func(t *testing.T) {
			if got := replicas(t, dryRun(t, c.arguments...)); got != c.want {
				t.Errorf("got %d replicas, want %d", got, c.want)
			}
		})
	}
	f := installFlags{values: []string{five, six}, sets: []string{"osm.sidecarImage=x"}}
	o, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := yaml.Marshal(o.Values); string(text) != "osm:\n  sidecarImage: x\n  sidecarLogLevel: info\nreplicas: 6\n" {
		t.Errorf("got merged values\n%s", text)
	}
	if code, _, stderr := runCommand(t, "install", "--dry-run", "-f", file("bad.yaml", "a: [")); code != 2 ||
		!strings.Contains(stderr, "bad.yaml") {
		t.Errorf("invalid YAML file: got exit code %d: %s", code, stderr)
	}
}
