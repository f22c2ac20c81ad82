package parcel

import (
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/dialect"
)

// definition is the YAML of the CustomResourceDefinition.
//
//go:embed definition.yaml
var definition []byte

// Dialect is the dialect with its settings.
type Dialect struct {
	trustDomain string
	values      values
}

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable   = Dialect{}
	_ dialect.Admission      = Dialect{}
	_ dialect.Statuses       = Dialect{}
	_ dialect.Finalizers     = Dialect{}
	_ dialect.Injection      = Dialect{}
	_ dialect.ReadinessGates = Dialect{}
	_ dialect.Checks         = Dialect{}
)

// values are the Helm values of the dialect.
type values struct {
	Port int32 `json:"port"`
}

// Name returns the key of the dialect in the Helm values.
func (Dialect) Name() string { return "parcel" }

// Title returns the name shown to users.
func (Dialect) Title() string { return "Parcel" }

// AddToScheme adds the kind and its list to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &VirtualService{}, &VirtualServiceList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// Definitions returns the CustomResourceDefinition.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(definition, crd); err != nil {
		return nil, fmt.Errorf("definition.yaml: %w", err)
	}
	return []*apiextensionsv1.CustomResourceDefinition{crd}, nil
}

// Kinds returns an empty object of each kind that the rules read.
func (Dialect) Kinds() []client.Object {
	return []client.Object{&corev1.Namespace{}, &corev1.Pod{}, &VirtualService{}}
}

// Values returns the default Helm values.
func (Dialect) Values() any { return values{Port: 8080} }

// Configure returns the dialect with the given Helm values.
func (d Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(s.Values[d.Name()], &v); err != nil {
		return nil, err
	}
	return Dialect{trustDomain: s.TrustDomain, values: v}, nil
}
