// Package appmesh is the dialect of API group appmesh.k8s.aws.
//
// In: objects of the group, and the Namespaces and Pods that their selectors match. Out: rules that derive model
// items and findings (Rules, Translate), the workload of a pod (OwnerOf, SelectWorkload), admission (Default,
// Validate) and the desired status of each object (Status). All functions are pure: no I/O and no state. They do not
// change their arguments, and the order of the objects is not significant.
package appmesh

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/api/crds"
	"anymesh.dev/anymesh/internal/dialect"
)

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable     = Dialect{}
	_ dialect.Admission        = Dialect{}
	_ dialect.DeletionWarnings = Dialect{}
	_ dialect.Statuses         = Dialect{}
	_ dialect.Finalizers       = Dialect{}
	_ dialect.Injection        = Dialect{}
	_ dialect.ReadinessGates   = Dialect{}
	_ dialect.Transforms       = Dialect{}
	_ dialect.Checks           = Dialect{}
	_ dialect.Manifests        = Dialect{}
	_ dialect.ShortNames       = Dialect{}
)

// Name is the name of the folder.
func (Dialect) Name() string { return "appmesh" }

// Title is the display name.
func (Dialect) Title() string { return "App Mesh" }

// AddToScheme adds the kinds of the group to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error { return api.AddToScheme(scheme) }

// Definitions returns the CustomResourceDefinitions of the group.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crds.OfGroup(api.GroupVersion.Group)
}

// Kinds returns an empty object of each kind that Translate reads. Translate ignores other kinds.
func (Dialect) Kinds() []client.Object {
	return []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &corev1.Service{}, &api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{},
		&api.VirtualRouter{},
		&api.VirtualGateway{}, &api.GatewayRoute{}, &api.BackendGroup{},
	}
}

// ShortNames returns the kinds by their short names.
func (Dialect) ShortNames() map[string]string {
	return map[string]string{
		"vn": api.KindVirtualNode, "vs": api.KindVirtualService, "vr": api.KindVirtualRouter,
		"vg": api.KindVirtualGateway,
		"gr": api.KindGatewayRoute, "bg": api.KindBackendGroup,
	}
}
