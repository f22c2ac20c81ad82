package fields

import (
	"bytes"
	_ "embed" // mesh.yaml, smi.yaml, policies.yaml, l7mp.yaml
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	l7mp "anymesh.dev/anymesh/api/l7mp/v1"
	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// API is a family of kinds, and a small mesh with one object of each kind, whose name is target.
type API struct {
	groups []string
	mesh   []byte
	// validate returns the denial of a new object.
	validate func(client.Object) error

	once     sync.Once
	fixtures []fixture
	err      error
}

//go:embed mesh.yaml
var appMesh []byte

//go:embed smi.yaml
var smi []byte

//go:embed policies.yaml
var policies []byte

//go:embed l7mp.yaml
var l7mpMesh []byte

// The families of kinds.
var (
	AppMesh = &API{groups: []string{api.GroupVersion.Group}, mesh: appMesh, validate: appmesh.ValidateCreate}
	SMI     = &API{
		groups:   []string{access.GroupVersion.Group, specs.GroupVersion.Group, split.GroupVersion.Group},
		mesh:     smi,
		validate: accept,
	}
	Policies = &API{groups: []string{policy.GroupVersion.Group}, mesh: policies, validate: accept}
	L7mp     = &API{groups: []string{l7mp.GroupVersion.Group}, mesh: l7mpMesh, validate: accept}
)

func accept(client.Object) error { return nil }

// fixture is an immutable object of the mesh.
type fixture struct {
	kind  string
	text  []byte
	typed client.Object
}

// objects returns the objects of the mesh.
func (a *API) objects() ([]fixture, error) {
	a.once.Do(func() {
		for _, text := range bytes.Split(a.mesh, []byte("\n---\n")) {
			typed, err := decode(text, func(map[string]any) {})
			if err != nil {
				a.err = err
				return
			}
			a.fixtures = append(a.fixtures, fixture{typed.GetObjectKind().GroupVersionKind().Kind, text, typed})
		}
	})
	return a.fixtures, a.err
}

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
	kinds, err := dialect.Scheme()
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
