package appmesh

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
)

// AdmissionReads returns an empty object of each kind that Default reads besides the object: Meshes, and
// VirtualGateways for GatewayRoutes.
func (Dialect) AdmissionReads(object client.Object) []client.Object {
	switch object.(type) {
	case *api.Mesh:
		return nil
	case *api.GatewayRoute:
		return []client.Object{&api.Mesh{}, &api.VirtualGateway{}}
	}
	return []client.Object{&api.Mesh{}}
}

// Default sets the defaults of an object in place; before is nil for a new object. An error is the text of the
// denial.
func (Dialect) Default(before, object client.Object, c dialect.AdmissionContext) error {
	v := ValidationContext{
		NamespaceLabels: c.NamespaceLabels, IPv6: c.IPv6,
		Meshes: dialect.ObjectsOf[*api.Mesh](c.Objects), Gateways: dialect.ObjectsOf[*api.VirtualGateway](c.Objects),
	}
	if before == nil {
		return DefaultCreate(object, v)
	}
	DefaultUpdate(object, v)
	return nil
}

// Validate returns the denial of an object, or nil; before is nil for a new object.
func (Dialect) Validate(before, object client.Object) error {
	if before == nil {
		return ValidateCreate(object)
	}
	return ValidateUpdate(before, object)
}

// AdmissionTrial returns an object and a check of the created object. Creating the object as a dry run shows whether
// the webhooks respond.
func (Dialect) AdmissionTrial(name string) (client.Object, func() error) {
	mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return mesh, func() error {
		if mesh.Spec.AWSName == nil || *mesh.Spec.AWSName != mesh.Name {
			return errors.New("admission did not set spec.awsName of the Mesh")
		}
		return nil
	}
}

// AssumeNamespace returns the assumed labels of a Namespace that is not among the objects, and a note for the user.
// If there is exactly one Mesh and its selector can match, the Mesh is assumed to select the Namespace.
func (Dialect) AssumeNamespace(objects []client.Object, name string,
	set map[string]string) (labels map[string]string, assumption string) {
	meshes := dialect.ObjectsOf[*api.Mesh](objects)
	if len(meshes) != 1 {
		return nil, ""
	}
	satisfied, ok := satisfy(meshes[0].Spec.NamespaceSelector, set)
	if !ok {
		return nil, ""
	}
	return satisfied, fmt.Sprintf("Namespace %s is not in the files; assuming that Mesh %s selects it", name,
		meshes[0].Name)
}

// satisfy adds labels until a selector matches, and reports false if it cannot match. An absent selector matches
// nothing.
func satisfy(selector *metav1.LabelSelector, set map[string]string) (map[string]string, bool) {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, false
	}
	out := maps.Clone(set)
	if selector != nil {
		for key, value := range selector.MatchLabels {
			out[key] = value
		}
		for _, e := range selector.MatchExpressions {
			_, present := out[e.Key]
			switch {
			case e.Operator == metav1.LabelSelectorOpIn && len(e.Values) > 0 && !slices.Contains(e.Values, out[e.Key]):
				out[e.Key] = e.Values[0]
			case e.Operator == metav1.LabelSelectorOpExists && !present:
				out[e.Key] = ""
			}
		}
		if out[corev1.LabelMetadataName] != set[corev1.LabelMetadataName] {
			return nil, false // the name of the namespace is known
		}
	}
	return out, compiled.Matches(labels.Set(out))
}
