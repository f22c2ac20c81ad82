package appmesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// ValidationContext is the input of admission besides the object.
type ValidationContext struct {
	// NamespaceLabels are the labels of the object's namespace.
	NamespaceLabels map[string]string
	// Meshes are all Meshes. Gateways are all VirtualGateways; only GatewayRoutes require them.
	Meshes   []*api.Mesh
	Gateways []*api.VirtualGateway
	// IPv6 is true if the cluster's addresses are IPv6.
	IPv6 bool
}

// DefaultCreate sets the defaults of a new object in place: awsName, unless the object has no name yet; the finalizer
// that delays the deletion until the members are deleted; the Mesh; and for a GatewayRoute the VirtualGateway. Mesh and
// VirtualGateway are immutable afterwards; an object that names them, as one that kubectl printed, is accepted if they
// are the same. BackendGroups have no awsName. An error is the text of the denial.
func DefaultCreate(object client.Object, s ValidationContext) error {
	// With generateName the name is not known yet. AWSName computes the default for such objects.
	if set := awsNameField(object); set != nil && deref(*set) == "" && object.GetName() != "" {
		*set = new(defaultAWSName(object))
	}
	finalizer := Dialect{}.MemberFinalizer(object)
	if have := object.GetFinalizers(); finalizer != "" && !slices.Contains(have, finalizer) {
		object.SetFinalizers(append(have, finalizer))
	}
	if mesh, is := object.(*api.Mesh); is {
		defaultFamily(mesh, s.IPv6)
		return nil
	}
	ref := meshRefField(object)
	if ref == nil {
		return nil
	}
	given := *ref
	mesh, err := MeshFor(object.GetNamespace(), s.NamespaceLabels, s.Meshes)
	if err != nil {
		return err
	}
	if mesh.DeletionTimestamp != nil {
		return fmt.Errorf("unable to create new content in mesh %s because it is being terminated", mesh.Name)
	}
	*ref = &api.MeshReference{Name: mesh.Name, UID: mesh.UID}
	if given != nil && (given.UID == "" || *given != **ref) {
		return fmt.Errorf("%s create may not specify read-only field: spec.meshRef", kindOf(object))
	}
	if route, is := object.(*api.GatewayRoute); is {
		return defaultGateway(route, s)
	}
	return nil
}

// DefaultUpdate sets the defaults of an update in place. The only one is the IP family of a Mesh.
func DefaultUpdate(object client.Object, s ValidationContext) {
	if mesh, is := object.(*api.Mesh); is {
		defaultFamily(mesh, s.IPv6)
	}
}

// defaultFamily sets the IP preference of a Mesh without one on an IPv6 cluster. The controller of App Mesh also
// replaced what a user had written; here the field has its effect.
func defaultFamily(mesh *api.Mesh, ipv6 bool) {
	d := mesh.Spec.MeshServiceDiscovery
	if !ipv6 || d != nil && d.IPPreference != nil {
		return
	}
	if d == nil {
		d = &api.MeshServiceDiscovery{}
	}
	d.IPPreference, mesh.Spec.MeshServiceDiscovery = new(api.IPv6Only), d
}

// MeshFor returns the only Mesh whose namespaceSelector matches a namespace.
func MeshFor(namespace string, labels map[string]string, meshes []*api.Mesh) (*api.Mesh, error) {
	var found []*api.Mesh
	for _, m := range meshes {
		if selects(m.Spec.NamespaceSelector, labels) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("failed to find matching mesh for namespace: %s, expecting 1 but found 0", namespace)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("found multiple matching meshes for namespace: %s, expecting 1 but found %d: %s",
		namespace, len(found), strings.Join(sortedNames(found), ","))
}

// GatewayFor returns the only VirtualGateway, of any namespace, that selects both a GatewayRoute and its namespace.
func GatewayFor(route *api.GatewayRoute, namespaceLabels map[string]string,
	gateways []*api.VirtualGateway) (*api.VirtualGateway, error) {
	var found []*api.VirtualGateway
	for _, g := range gateways {
		byLabels := g.Spec.GatewayRouteSelector
		if byLabels == nil {
			byLabels = &metav1.LabelSelector{} // this selector matches all if it is absent
		}
		if selects(g.Spec.NamespaceSelector, namespaceLabels) && selects(byLabels, route.Labels) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("failed to find matching virtualGateway for gatewayRoute: %s, expecting 1 but found 0",
			route.Name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("found multiple matching virtualGateways for gatewayRoute: %s, expecting 1 but found %d: %s",
		route.Name, len(found), strings.Join(sortedNames(found), ","))
}

func defaultGateway(route *api.GatewayRoute, s ValidationContext) error {
	gateway, err := GatewayFor(route, s.NamespaceLabels, s.Gateways)
	if err != nil {
		return err
	}
	if ref := gateway.Spec.MeshRef; ref == nil || *ref != *route.Spec.MeshRef {
		return errors.New("virtualGateway referenced does not belong to the mesh referenced in GatewayRoute Create")
	}
	given := route.Spec.VirtualGatewayRef
	route.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{
		Namespace: new(gateway.Namespace), Name: gateway.Name, UID: gateway.UID,
	}
	if given != nil && (given.Name != gateway.Name || given.Namespace != nil && *given.Namespace != gateway.Namespace ||
		given.UID == "" || given.UID != gateway.UID) {
		return errors.New("GatewayRoute create may not specify read-only field: spec.virtualGatewayRef")
	}
	return nil
}
