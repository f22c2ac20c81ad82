package presubmit

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// `kubectl apply -f examples/colors` reads the files of the folder by name, and applies one document after the other. On
// an empty cluster, an object needs its namespace first.
func TestNamespacesOfTheExampleComeFirst(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples/colors/*.yaml")) // by name
	if err != nil {
		t.Fatal(err)
	}
	namespaces, objects := map[string]bool{}, 0
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(read(t, name)), 4096)
		for {
			var object metav1.PartialObjectMetadata
			if err := documents.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if object.Kind == "Namespace" {
				namespaces[object.Name] = true
			}
			if object.Namespace == "" {
				continue
			}
			if objects++; !namespaces[object.Namespace] {
				t.Errorf("%s: %s %s comes before the namespace %s", name, object.Kind, object.Name, object.Namespace)
			}
		}
	}
	if objects == 0 {
		t.Error("the example has no object in a namespace")
	}
}
