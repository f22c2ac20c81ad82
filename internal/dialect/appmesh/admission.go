package appmesh

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Validate returns the denial of an object, or nil; before is nil for a new object. An admitted object that is not
// being deleted has warnings about certificates and trust that no source of the mesh has.
func (d Dialect) Validate(before, object client.Object) (warnings []string, denial error) {
	if before == nil {
		denial = ValidateCreate(object)
	} else {
		denial = ValidateUpdate(before, object)
	}
	if denial == nil && object.GetDeletionTimestamp() == nil {
		warnings = d.warnings(object)
	}
	return warnings, denial
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
