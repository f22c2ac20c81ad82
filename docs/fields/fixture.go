package fields

import (
	"bytes"
	_ "embed" // mesh.yaml
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
)

//go:embed mesh.yaml
var meshYAML []byte

// fixture is an immutable object of the mesh.
type fixture struct {
	kind  string
	text  []byte
	typed client.Object
}

var fixtures = sync.OnceValues(func() ([]fixture, error) {
	var out []fixture
	for _, text := range bytes.Split(meshYAML, []byte("\n---\n")) {
		typed, err := decode(text, func(map[string]any) {})
		if err != nil {
			return nil, err
		}
		out = append(out, fixture{typed.GetObjectKind().GroupVersionKind().Kind, text, typed})
	}
	return out, nil
})

var scheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		return nil, err
	}
	return s, api.AddToScheme(s)
})

// values are settings with which each field has an effect.
const values = `{"sds": {"enabled": true}, "acm": {
	"certificates": {"arn:aws:acm:us-west-2:1:certificate/a": "a", "arn:aws:acm:us-west-2:1:certificate/b": "b"},
	"authorities": {"arn:aws:acm-pca:us-west-2:1:certificate-authority/a": "a"}
}}`

var configured = sync.OnceValues(func() ([]dialect.Dialect, error) {
	return dialect.Configured(dialect.Settings{Values: map[string]json.RawMessage{"appmesh": json.RawMessage(values)}})
})

// decode reads an object that was changed, strictly, as the API server does.
func decode(text []byte, change func(map[string]any)) (client.Object, error) {
	var o map[string]any
	if err := yaml.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	change(o)
	kinds, err := scheme()
	if err != nil {
		return nil, err
	}
	typed, err := kinds.New((&unstructured.Unstructured{Object: o}).GroupVersionKind())
	if err != nil {
		return nil, err
	}
	changed, err := yaml.Marshal(o)
	if err != nil {
		return nil, err
	}
	return typed.(client.Object), yaml.UnmarshalStrict(changed, typed)
}
