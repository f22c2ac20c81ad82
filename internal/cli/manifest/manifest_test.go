package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	smi "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

var kinds = []client.Object{
	&api.Mesh{}, &api.VirtualNode{}, &corev1.Namespace{}, &corev1.Pod{}, &smi.TrafficSplit{},
}

func decode(t *testing.T, text string) (*Set, []*Document) {
	t.Helper()
	files, err := Read([]string{Stdin}, strings.NewReader(text))
	if err != nil || len(files.Faults) > 0 {
		t.Fatal(err, files.Faults)
	}
	set, err := Decode(files.Documents, kinds, "here")
	if err != nil {
		t.Fatal(err)
	}
	return set, files.Documents
}

func TestReadFoldersRecursively(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b.yaml", "a/c.yml", "a/d.json", ".git/e.yaml", "notes.txt"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}`),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	read, err := Read([]string{folder, filepath.Join(folder, "notes.txt")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, d := range read.Documents {
		name, err := filepath.Rel(folder, d.File)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	if want := []string{"a/c.yml", "a/d.json", "b.yaml", "notes.txt"}; !slices.Equal(files, want) {
		t.Errorf("got %v, want %v", files, want)
	}
	if _, err := Read([]string{filepath.Join(folder, "missing")}, nil); err == nil {
		t.Error("no error for a file that does not exist")
	}
}

func TestLineOf(t *testing.T) {
	_, documents := decode(t, `# only a comment
---
# comment
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front}
spec:
  listeners:
    - portMapping:
        port: 1
    - portMapping:
        port: 2
--- {apiVersion: v1, kind: List, items: [
  {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}]}
`)
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	for path, want := range map[string]int{
		"": 4, "spec.listeners[1].portMapping.port": 12, "spec.listeners[0].portMapping": 9, "spec.listeners[1].timeout.http": 11, "spec.listeners[7]": 8,
		"spec.awsName": 7, "status": 4,
	} {
		t.Run(path, func(t *testing.T) {
			if got := documents[0].LineOf(path); got != want {
				t.Errorf("got line %d, want %d", got, want)
			}
		})
	}
	if got := documents[1].LineOf("metadata.name"); got != 14 {
		t.Errorf("object in a List: got line %d, want 14", got)
	}
}

// All line breaks of YAML 1.1 end a line, including a single CR: markers are found and line numbers are correct.
func TestLineEndings(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\n---\n\nmetadata: {name: x}\nkind: Pod\napiVersion: v1\n"
	for _, end := range []string{"\n", "\r\n", "\r", "\u0085"} {
		_, documents := decode(t, strings.ReplaceAll(text, "\n", end))
		if len(documents) != 2 || documents[1].LineOf("kind") != 6 {
			t.Errorf("line break %q: got %d documents, the last kind in line %d", end, len(documents),
				documents[len(documents)-1].LineOf("kind"))
		}
	}
}

func TestPodsFromWorkloadTemplates(t *testing.T) {
	set, _ := decode(t, `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: front}, spec: {template: {metadata: {labels: {app: front}}, spec: {serviceAccountName: f}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: jobs}, spec: {jobTemplate: {spec: {template: {metadata: {labels: {app: job}}}}}}}
---
{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: back}, spec: {template: {metadata: {labels: {app: back}}, spec: {containers: [{name: back}]}}}}
---
{apiVersion: example.com/v1, kind: Letter, metadata: {name: x}, spec: {template: {metadata: {labels: {app: letter}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: front}}
`)
	var got []string
	for _, o := range set.Objects {
		pod := o.(*corev1.Pod)
		got = append(got, pod.Namespace+"/"+pod.Name+" "+pod.Labels["app"]+" "+pod.Spec.ServiceAccountName)
	}
	if want := []string{"here/front front f", "jobs/nightly job ", "here/back back "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if set.Read != 3 || set.Skipped["Service"] != 1 {
		t.Errorf("got %d objects read, skipped %v", set.Read, set.Skipped)
	}
}

// A missing Namespace gets the labels that the selector of the only Mesh requires, unless the selector names
// namespaces.
func TestMissingNamespaces(t *testing.T) {
	for selector, assumed := range map[string]bool{
		`{}`:                       true,
		`{matchLabels: {mesh: m}}`: true,
		`{matchExpressions: [{key: a, operator: In, values: [x]}, {key: b, operator: Exists}, {key: c, operator: DoesNotExist}]}`: true,
		`{matchLabels: {kubernetes.io/metadata.name: there}}`:                                                                     false,
		`null`: false,
	} {
		t.Run(selector, func(t *testing.T) {
			set, _ := decode(t, `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: `+selector+`}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: front}}
`)
			set.Complete(dialect.All())
			mesh, namespace := set.Objects[0].(*api.Mesh), set.Objects[2].(*corev1.Namespace)
			if got := len(set.Assumptions) == 1; got != assumed {
				t.Errorf("got assumptions %v", set.Assumptions)
			}
			selector, err := metav1.LabelSelectorAsSelector(mesh.Spec.NamespaceSelector)
			if err != nil {
				t.Fatal(err)
			}
			if matches := selector.Matches(labels.Set(namespace.Labels)); matches != assumed ||
				namespace.Name != "here" {
				t.Errorf("got namespace %+v", namespace.ObjectMeta)
			}
		})
	}
	set, _ := decode(t, `{apiVersion: v1, kind: Namespace, metadata: {name: x}}`)
	set.Complete(dialect.All())
	if set.Objects[0].GetLabels()[corev1.LabelMetadataName] != "x" {
		t.Error("the Namespace has no label kubernetes.io/metadata.name")
	}
}
